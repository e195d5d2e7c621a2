#!/usr/bin/env bash
# Makes .venv from the pinned requirements, or brings it up to date. uv, itself pinned, does it in a minute.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3.11}
if ! "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
    echo "Python 3.11 is needed and '$python' is not it. Run: make PYTHON=/path/to/python3.11" >&2
    exit 1
fi
if [ ! -x .venv/bin/python ] && ! "$python" -m venv .venv; then
    rm -rf .venv
    echo "Python's venv module does not work here. On Debian: apt-get install python3.11-venv" >&2
    exit 1
fi
echo "Installing the pinned requirements into .venv"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
export VIRTUAL_ENV="$PWD/.venv"
# Compiled now: where nobody may write bytecode later, each of a thousand processes would compile Airflow anew.
.venv/bin/uv pip install --quiet --compile-bytecode --require-hashes -r requirements/dev.txt
# Installed in place, so that Airflow finds the provider by its entry point.
.venv/bin/uv pip install --quiet --no-deps --no-build-isolation --editable .
touch .venv/ready
