#!/usr/bin/env bash
# Makes .venv from the pinned requirements, or brings it up to date. uv, itself pinned, does it in a minute.
# By PYTHON, where it is set, else by the first Python from 3.11 to 3.14 that there is.
set -euo pipefail
cd "$(dirname "$0")/.."

fits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; }

python=${PYTHON:-}
if [ -z "$python" ]; then
    # The one that CI runs comes first. What stands in for others, as pyenv's does, is there and does not answer.
    for each in python3.11 python3.12 python3.13 python3.14 python3; do
        if fits "$each"; then python=$each && break; fi
    done
fi
if [ -z "$python" ] || ! fits "$python"; then
    echo "Python 3.11, 3.12, 3.13 or 3.14 is needed, and '${python:-python3}' is none. Run: make PYTHON=/path/to/python3.11" >&2
    exit 1
fi
if [ ! -x .venv/bin/python ] && ! "$python" -m venv .venv; then
    rm -rf .venv
    version=$("$python" -c 'import sys; print("{}.{}".format(*sys.version_info))')
    echo "Python's venv module does not work here. On Debian: apt-get install python$version-venv" >&2
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
