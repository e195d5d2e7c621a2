"""What can go wrong in the demo, told with its remedy."""

from __future__ import annotations

from pathlib import Path


class DemoError(Exception):
    """The demo cannot go on.

    :param problem: what happened.
    :param remedy: what to do about it.
    :param details: lines that show it, for example the end of a log.
    """

    def __init__(self, problem: str, remedy: str = "", details: str = "") -> None:
        super().__init__(problem, remedy, details)
        self.problem, self.remedy, self.details = problem, remedy, details


def tail(path: Path, lines: int = 40) -> str:
    """Return the last lines of a file, empty when there is none."""
    if not path.is_file():
        return ""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
