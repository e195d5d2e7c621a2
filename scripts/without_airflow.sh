#!/usr/bin/env bash
# Installs the wheel into a fresh environment that has pyspark and no Airflow, and drains a partition there.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
.venv/bin/python -m build --wheel --no-isolation --outdir "$work/dist" . >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; exit 1; }
wheel=$(ls "$work"/dist/*.whl)
.venv/bin/uv venv --quiet --python .venv/bin/python "$work/venv"
# The lock's versions and hashes hold here too, as constraints.
.venv/bin/uv pip install --quiet --python "$work/venv/bin/python" --constraint requirements/dev.txt "$wheel[spark]"
cp scripts/without_airflow.py "$work/"
cd "$work"
"$OLDPWD/scripts/with_java.sh" "$work/venv/bin/python" -I without_airflow.py "$work/data"
