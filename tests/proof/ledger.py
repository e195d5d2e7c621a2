"""What was run and what came of it: one line of JSON for each part, so that a long proof can be made in pieces."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.mutants.due import git
from tests.proof.simulated import KEPT, Simulated

Line = dict[str, Any]
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
        self._path.parent.mkdir(parents=True, exist_ok=True)
        now, python = datetime.now(UTC).isoformat(timespec="seconds"), platform.python_version()
        line = {"part": part, "code": self.code, "python": python, "at": now, **figures}
        with self._path.open("a") as file:
            file.write(f"{json.dumps(line)}\n")

    def lines(self, part: str) -> Iterator[Line]:
        """Yield the lines of a part, the oldest first; one that was cut off is left out."""
        if self._path.exists():
            for text in self._path.read_text().split("\n")[:-1]:
                line = json.loads(text)
                if line["part"] == part:
                    yield line

    def has(self, part: str) -> bool:
        """Return whether a part was already run on this commit."""
        return any(line["code"] == self.code for line in self.lines(part))


def _commit() -> str:
    """Return the commit that is checked out, marked if there is more than it and what a proof writes."""
    here = Path.cwd()
    said = git(here, "describe", "--always")
    others = (f":!{path}" for path in WRITTEN)
    changed = git(here, "status", "--porcelain", "--untracked-files=no", "--", ".", *others)
    return f"{said}-dirty" if said and changed else said or "unknown"
