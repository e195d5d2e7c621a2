"""What was run and what came of it: one line of JSON for each part, so that a long proof can be made in pieces."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.mutants.due import git
from tests.proof.lines import Line, add, read
from tests.proof.simulated import KEPT, Simulated

WRITTEN: Final = ("docs/reliability.md", str(KEPT))
"""What a proof writes itself; whoever breaks it off has no other code to prove."""


class Ledger:
    """A file of lines.

    :param path: of the file; made with its first line.
    :param simulated: of what was simulated, which all machines add to.
    """

    def __init__(self, path: Path, simulated: Path = KEPT) -> None:
        self._path = path
        self.simulated = Simulated(simulated)
        self.code = _commit()

    def add(self, part: str, figures: Line) -> None:
        """Append what came of a part, with the commit and the Python that it was run on."""
        now, python = datetime.now(UTC).isoformat(timespec="seconds"), platform.python_version()
        add(self._path, {"part": part, "code": self.code, "python": python, "at": now, **figures})

    def lines(self, part: str) -> Iterator[Line]:
        """Yield the lines of a part, the oldest first."""
        yield from (line for line in read(self._path) if line["part"] == part)

    def has(self, part: str) -> bool:
        """Return whether a part was already run on this commit."""
        return any(line["code"] == self.code for line in self.lines(part))

    @contextmanager
    def notes(self, part: str) -> Iterator[Path]:
        """Give the file of a part's notes; after a run on this commit was broken off they are still there.

        :param part: takes a line when its run comes to the end, and then the notes go.
        """
        file = self._path.parent / f"{part} on {self.code}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        if self.code.endswith(("-dirty", "unknown")):  # changes have no name that says which
            file.unlink(missing_ok=True)
        yield file
        file.unlink(missing_ok=True)


def _commit() -> str:
    """Return the commit that is checked out, marked if there is more than it and what a proof writes."""
    here = Path.cwd()
    said = git(here, "describe", "--always")
    others = (f":!{path}" for path in WRITTEN)
    changed = git(here, "status", "--porcelain", "--untracked-files=no", "--", ".", *others)
    return f"{said}-dirty" if said and changed else said or "unknown"
