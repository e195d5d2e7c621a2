"""The files that a run depends on, and a digest of them: ``python -m tests.simulation.loaded in_memory`` prints both.

A file of which a function ran counts whole. One that was only loaded, as a name of it was, counts without the bodies of
its functions: they may become others, and all that was simulated stands.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final

from tests.simulation.run import simulate
from tests.simulation.stores import STORES

ROOT: Final = Path(__file__).parents[2]
SEEDS: Final = range(8)
"""By the fourth, every function's file that thousands of seeds enter was entered."""


def digest(store: str) -> str:
    """Return the digest of what a run on a store depends on, asked in a process that has loaded nothing else."""
    command = [sys.executable, "-m", "tests.simulation.loaded", store]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]


class Files:
    """Those of this repository that seeds of a store load or execute, and those of which they enter a function.

    :param store: where the seeds run.
    """

    def __init__(self, store: str) -> None:
        self._executed = {each.__file__ for each in list(sys.modules.values()) if getattr(each, "__file__", None)}
        self._entered: set[str] = set()
        sys.addaudithook(self._note_execution)
        sys.setprofile(self._note_call)
        for seed in SEEDS:
            simulate(seed, STORES[store])
        sys.setprofile(None)

    def __iter__(self) -> Iterator[Path]:
        for name in sorted(filter(None, self._executed | self._entered)):
            path = Path(name)
            if path.is_relative_to(ROOT) and "site-packages" not in path.parts and path != Path(__file__):
                yield path

    def read(self, path: Path) -> bytes:
        """Return what counts of one of them."""
        return path.read_bytes() if str(path) in self._entered else outside_functions(path.read_bytes())

    def _note_execution(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "exec":  # alembic's migrations are no modules that anybody finds
            self._executed.add(getattr(arguments[0], "co_filename", None))

    def _note_call(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_flags & inspect.CO_NEWLOCALS:  # neither a module nor a class
            self._entered.add(frame.f_code.co_filename)


def outside_functions(source: bytes) -> bytes:
    """Return the lines of a file that are in no body of a function."""
    inside: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.body[0].lineno > node.lineno:
            inside.update(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
    return b"\n".join(line for number, line in enumerate(source.splitlines(), 1) if number not in inside)


def main() -> None:
    """Print the files, and their digest."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.loaded", description=__doc__)
    parser.add_argument("store", choices=STORES)
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    files = Files(given.store)
    loaded = list(files)

    from tests.left_out import digest_of_files  # only now, or it would be among them

    print(*(path.relative_to(ROOT) for path in loaded), digest_of_files(loaded, files.read), sep="\n")


if __name__ == "__main__":
    main()
