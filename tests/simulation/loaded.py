"""The files that a run loads, and a digest of them: ``python -m tests.simulation.loaded in_memory`` prints both."""

from __future__ import annotations

import hashlib
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.simulation.run import simulate
from tests.simulation.stores import STORES

ROOT = Path(__file__).parents[2]


def digest(store: str) -> str:
    """Return the digest of what a run on a store executes, asked in a process that has loaded nothing else."""
    command = [sys.executable, "-m", "tests.simulation.loaded", store]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return said.split()[-1]


def _loaded() -> Iterator[Path]:
    """Yield the files of this repository that this process has loaded."""
    for module in list(sys.modules.values()):
        path = Path(getattr(module, "__file__", None) or "/")
        if module.__name__ != "__main__" and path.is_relative_to(ROOT) and "site-packages" not in path.parts:
            yield path.relative_to(ROOT)


def main(store: str) -> None:
    """Run a seed, so that what is loaded late is loaded too."""
    logging.disable(logging.CRITICAL)
    simulate(0, STORES[store])
    whole = hashlib.sha256()
    for path in sorted(_loaded()):
        print(path)
        whole.update(f"{path} {hashlib.sha256((ROOT / path).read_bytes()).hexdigest()}\n".encode())
    print(whole.hexdigest()[:12])


if __name__ == "__main__":
    main(sys.argv[1])
