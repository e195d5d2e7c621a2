"""Systems that work on a file of their own; there is no server, so all CPU is the client's."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.harness.figures import Turn
from benchmarks.harness.systems import Spec, Team, together


class Files:
    """A directory with a filled file for each kind of rows, which is copied before it is used.

    :param place: where to make it: on a disk, as the file of a user would be.
    """

    def __init__(self, place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True)
        self._home = Path(tempfile.mkdtemp(prefix="files-", dir=place))

    def __enter__(self) -> Files:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        shutil.rmtree(self._home)

    @contextmanager
    def team(self, spec: Spec, rows: int, processes: int = 1) -> Iterator[Team]:
        """Start a system on a copy of its rows, and end it with the block."""
        with tempfile.TemporaryDirectory(dir=self._home) as folder:
            url = self._copied(spec, rows, Path(folder))
            with together([Team(spec, processes, url=url)]) as [team]:
                yield team

    def _copied(self, spec: Spec, rows: int, folder: Path) -> str:
        template = self._home / f"{spec.rows}-{rows}"
        if not template.exists():
            template.mkdir()
            spec.fill(url=_url(template), rows=rows)
        shutil.copytree(template, folder, dirs_exist_ok=True)
        return _url(folder)

    def measured(self, team: Team, warm: Sequence[dict[str, Any]] = (), **order: float) -> Turn:
        """Let a system warm up and then work, and return what the work took."""
        for first in warm:
            team.do(**first)
        done = team.do(**order)
        return Turn(done.cycles, done.cpu, 0.0, done.wall, 0.0, done.longest, done.served)


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'work.db'}"
