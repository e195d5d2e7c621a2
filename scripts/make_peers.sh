#!/usr/bin/env bash
# Makes .work/peers, where what `make bench` compares with is installed: our tests must not find what only a peer brings.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "Installing the peers into .work/peers"
.venv/bin/python -m venv --clear --without-pip .work/peers
export VIRTUAL_ENV="$PWD/.work/peers"
.venv/bin/uv pip install --quiet --compile-bytecode --require-hashes -r requirements/bench.txt
touch .work/peers/ready
