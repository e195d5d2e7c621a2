#!/usr/bin/env bash
# Makes .work/peers, where what `make bench` compares with is installed: our tests must not find what only a peer brings.
# Iceberg's Spark is another one than ours and lies in .work/iceberg.
set -euo pipefail
cd "$(dirname "$0")/.."

install() {
    echo "Installing the peers into $1"
    .venv/bin/python -m venv --clear --without-pip "$1"
    VIRTUAL_ENV="$PWD/$1" .venv/bin/uv pip install --quiet --compile-bytecode --require-hashes -r "$2"
}

install .work/iceberg requirements/iceberg.txt
install .work/peers requirements/bench.txt
touch .work/peers/ready
