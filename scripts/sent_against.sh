#!/usr/bin/env bash
# Show how the texts in .work/sent differ from those of another commit, which has tests/sent: usage: sent_against.sh COMMIT
set -euo pipefail
here=$PWD other=$(mktemp -d)
trap 'git worktree remove --force "$other"' EXIT
rm -rf .work/sent.before
git worktree add --quiet --detach "$other" "$1"
ln -s "$here/.work" "$other/.work"
(cd "$other" && PATH="$here/.venv/bin:$PATH" "$here/scripts/with_java.sh" python -m tests.sent "$here/.work/sent.before" >/dev/null)
git --no-pager diff --no-index .work/sent.before .work/sent || true
