"""The shortest way to each violation, as ``traces.txt`` keeps it: what readers lose where a rule is left out.

``python -m tests.model.branches.traces`` writes it again.
"""

from __future__ import annotations

from pathlib import Path

from tests.model.branches.holes import HOLES, Hole
from tests.model.branches.world import Branches
from tests.model.explorer import Explorer, Result

FILE = Path(__file__).with_name("traces.txt")


def found(hole: Hole) -> Result:
    """Return what the explorer finds without a hole's rule."""
    return Explorer(Branches(hole.loosened)).run()


def text(hole: Hole, result: Result) -> str:
    """Return the violation and the way to it."""
    steps = (f"{number:4}. {said}\n" for number, said in enumerate(result.trace, 1))
    return f"##### {hole.name} without: {hole.title}\n{''.join(steps)}VIOLATION {result.violation}\n"


def kept() -> dict[str, str]:
    """Return the traces of the file by the names of their holes."""
    parts = FILE.read_text().split("\n##### ")
    return {part.split()[0]: f"##### {part.strip()}\n" for part in (parts[0].removeprefix("##### "), *parts[1:])}


if __name__ == "__main__":
    FILE.write_text("\n".join(text(hole, found(hole)) for hole in HOLES))
