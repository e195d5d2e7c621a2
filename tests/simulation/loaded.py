"""The files that a run depends on, and a digest of them: ``python -m tests.simulation.loaded in_memory`` prints both.

What leases are made of counts whole, and so does any file of which a function is entered. Of others, such as those of
outputs, a run has only the names: they count without the bodies of their functions, which may become others, and all
that was simulated stands.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

ROOT: Final = Path(__file__).parents[2]
OF_LEASES: Final = ("leases", "planning", "protocol", "stores", "testing", "values")
"""Rooms whose functions runs enter, some of them in one seed of a hundred."""


def digest(store: str) -> str:
    """Return the digest of what a run on a store depends on, asked in a process that has loaded nothing else."""
    command = [sys.executable, "-m", "tests.simulation.loaded", store]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]


class Files:
    """Those of this repository of which anything is executed while it notes, and those of which a function is."""

    def __init__(self) -> None:
        self._executed, self._entered = set[str](), set[str]()

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note what is executed meanwhile; what was imported before is not seen."""
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)

    def __iter__(self) -> Iterator[Path]:
        for name in sorted(self._executed):
            path = Path(name)
            if path.is_relative_to(ROOT) and "site-packages" not in path.parts and path != Path(__file__):
                yield path

    def counts_whole(self, path: Path) -> bool:
        """Return whether it does, or only without the bodies of its functions."""
        package, *room = path.relative_to(ROOT).parts
        return package == "tests" or room[0] in OF_LEASES or str(path) in self._entered

    def read(self, path: Path) -> bytes:
        """Return what counts of one of them."""
        return path.read_bytes() if self.counts_whole(path) else outside_functions(path.read_bytes())

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if (
            event == "call"
        ):  # of a function, or of a module or class: alembic's migrations are no modules that are found
            self._executed.add(code.co_filename)
            # Neither a class's body nor a lambda, which stand outside of functions or in one that was entered before.
            if code.co_flags & inspect.CO_NEWLOCALS and not code.co_name.startswith("<"):
                self._entered.add(code.co_filename)


def outside_functions(source: bytes) -> bytes:
    """Return the lines of a file that are in no body of a function."""
    inside: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.body[0].lineno > node.lineno:
            inside.update(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
    return b"\n".join(line for number, line in enumerate(source.splitlines(), 1) if number not in inside)


def main() -> None:
    """Print the files, each with what counts of it, and their digest."""
    files = Files()
    with files.noting():
        from tests.simulation.run import simulate
        from tests.simulation.stores import STORES

        parser = argparse.ArgumentParser(prog="python -m tests.simulation.loaded", description=__doc__)
        parser.add_argument("store", choices=STORES)
        given = parser.parse_args()
        logging.disable(logging.CRITICAL)
        simulate(0, STORES[given.store])
    loaded = list(files)

    from tests.left_out import digest_of_files  # only now, or it would be among them

    for path in loaded:
        print("whole" if files.counts_whole(path) else "outside-functions", path.relative_to(ROOT))
    print(digest_of_files(loaded, files.read))


if __name__ == "__main__":
    main()
