"""The files that a run loads, and a digest of them: ``python -m tests.simulation.loaded in_memory`` prints both."""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.simulation.run import simulate
from tests.simulation.stores import STORES

ROOT: Final = Path(__file__).parents[2]


def digest(store: str) -> str:
    """Return the digest of the files that a run on a store loads, asked in a process that has loaded nothing else."""
    command = [sys.executable, "-m", "tests.simulation.loaded", store]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]


def loaded_by(store: str) -> Iterator[Path]:
    """Yield the files of this repository that a seed executes or that were imported for it."""
    executed = {each.__file__ for each in list(sys.modules.values()) if getattr(each, "__file__", None)}

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "exec":  # alembic's migrations are no modules that anybody finds
            executed.add(getattr(arguments[0], "co_filename", None))

    sys.addaudithook(note)
    simulate(0, STORES[store])
    for name in sorted(filter(None, executed)):
        path = Path(name)
        if path.is_relative_to(ROOT) and "site-packages" not in path.parts and path != Path(__file__):
            yield path


def main() -> None:
    """Print the files, and their digest."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.loaded", description=__doc__)
    parser.add_argument("store", choices=STORES)
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    files = list(loaded_by(given.store))

    from tests.left_out import digest_of_files  # only now, or it would be among them

    print(*(path.relative_to(ROOT) for path in files), digest_of_files(files), sep="\n")


if __name__ == "__main__":
    main()
