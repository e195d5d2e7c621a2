"""Up to where the fresh partitions of a source are used up, as far as this process knows.

While any snapshot is held in the database, PostgreSQL keeps the index entries of what was acquired since, and
every acquisition would walk over all of them. Starting at the mark walks over none.

Partitions that come back wait in a branch of their own, and smaller priorities are asked for separately, so the
order stays exact but for one case: a fresh partition that was committed late, below a mark that has passed its
place, is seen at the next look from the floors (``used_up.py``), which no such partition is below. That is after
``SECONDS``, or as soon as nothing else is left.
"""

from __future__ import annotations

import time
from typing import Final

from airflow_coordination.protocol.partition import Partition

SECONDS: Final = 2.0
FROM_THE_BEGINNING: Final = (-(2**31), -1)

Mark = tuple[int, int]


class Marks:
    """One mark per source: priority and ordinal of the newest partition acquired for the first time."""

    def __init__(self) -> None:
        self._marks: dict[str, tuple[Mark, float]] = {}

    def of(self, source: str) -> Mark:
        """Return where to start looking for fresh partitions."""
        mark, until = self._marks.get(source, (FROM_THE_BEGINNING, 0.0))
        if time.monotonic() < until:
            return mark
        self._marks.pop(source, None)
        return FROM_THE_BEGINNING

    def acquired(self, source: str, found: Partition | None, asked_from: Mark) -> None:
        """Note what an acquisition found that started at ``asked_from``."""
        if found is None or found.token > 1:
            return
        known = self._marks.get(source)
        until = known[1] if known else time.monotonic() + SECONDS
        mark = (found.priority, found.ordinal)
        if mark > asked_from:
            self._marks[source] = (mark, until)
        else:
            self._marks.pop(source, None)
