"""When a group that has failed is tried again: three times at once, then after 1, 2, 4 … runs, at most a day.

Source: Druid's ``CompactionStatusTracker`` has the three retries, and waits for five other tasks after them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from airflow_coordination.planning.intervals import written
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.times import aware, needed

RETRIES: Final = 3
_LONGEST: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Failures:
    """What has become of a group since its last success.

    :param number: how often it has failed in a row.
    :param last: when it failed last.
    :param why: what it said.
    :raises InvalidInputError: when it has never failed, or the time has no zone.
    """

    number: int
    last: datetime
    why: str = ""

    def __post_init__(self) -> None:
        if self.number < 1:
            raise InvalidInputError("failures.number", self.number, "is less than 1", "Leave out what has not failed")
        aware("failures.last", self.last)

    def runs_to_wait(self) -> int:
        """Return for how many runs it waits: none for the first retries, then 1, 2, 4 and so on."""
        return 0 if self.number <= RETRIES else 2 ** min(self.number - RETRIES - 1, 30)

    def next_try(self, period: timedelta) -> datetime:
        """Return when it is tried again.

        :param period: from one run to the next.
        :raises InvalidInputError: when that is not above zero.
        """
        between = needed("period", period)
        wait = self.runs_to_wait()
        return self.last + (_LONGEST if wait * between.total_seconds() > _LONGEST.total_seconds() else wait * between)

    def is_due(self, now: datetime, period: timedelta, changed: datetime | None = None) -> bool:
        """Tell whether it is tried: its time has come, or something of its chunk is newer than the failure.

        :param changed: when something of its chunk was published last.
        :raises InvalidInputError: when a time has no zone, or the period is not above zero.
        """
        aware("now", now)
        return (changed is not None and changed > self.last) or now >= self.next_try(period)

    def told(self, period: timedelta) -> str:
        """Return how it stands, for people."""
        times = "once" if self.number == 1 else f"{self.number} times"
        why = f" with {self.why}" if self.why else ""
        return f"failed {times}{why}, next try at {written(self.next_try(period))}"
