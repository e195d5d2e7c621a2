"""The schedule of a source's scans, and its record in the global state under Data Prepper's own names."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from airflow_coordination.values.input_errors import InvalidInputError, ProgressStateError
from airflow_coordination.values.times import from_micros, positive, to_micros

SCAN_COUNT: Final = "SCAN_COUNT"
SINGLE_SCAN_COMPLETE: Final = "SINGLE_SCAN_COMPLETE"
LAST_SCAN_TIME: Final = "LAST_SCAN_TIME"

_TOO_LATE: Final = 10**14
"""In milliseconds: the year 5138."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The interval and number of a source's scans.

    :param every: the time from the start of one scan to the start of the next (Data Prepper counts from the end);
        zero to scan whenever the supplier is asked; ``None`` to scan once.
    :param count: how many scans there are; ``None`` for no end.
    """

    every: timedelta | None = None
    count: int | None = None

    @classmethod
    def of(cls, scan: object, count: object) -> Schedule:
        """Return the schedule that the user's ``scan`` and ``count`` describe.

        :raises InvalidInputError: when they describe none.
        """
        if scan != "once" and not isinstance(scan, timedelta):
            raise InvalidInputError("scan", scan, "is no scan mode", "Give 'once', or the interval as a timedelta")
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise InvalidInputError("count", count, "is not a number of scans", "Give 1 or more, or leave it out")
        if isinstance(scan, timedelta):
            return cls(positive("scan", scan, zero=True), count)
        if count is not None:
            raise InvalidInputError("count", count, "makes no sense with scan='once'", "Leave it out")
        return cls()

    def due(self, state: Mapping[str, Any], now: datetime, name: str) -> bool:
        """Tell whether the next scan is due, and say in the log why not.

        :param name: what is scanned, for the log.
        :raises ProgressStateError: when the state holds something else than numbers.
        """
        done, last = _number(state, SCAN_COUNT), _number(state, LAST_SCAN_TIME)
        if self.every is None and done:
            log.info("%s: its single scan is complete; there is nothing left to look for.", name)
        elif self.count is not None and done >= self.count:
            log.info("%s: all %d scans are done; there is nothing left to look for.", name, self.count)
        elif self.every and last and now < (next_scan := from_micros(last * 1000) + self.every):
            log.info("%s: the next scan is due at %s.", name, next_scan.isoformat(timespec="seconds"))
        else:
            return True
        return False

    def after_scan(self, state: Mapping[str, Any], started: datetime) -> dict[str, Any]:
        """Return the state's record of scans with one more complete."""
        return {
            SCAN_COUNT: _number(state, SCAN_COUNT) + 1,
            SINGLE_SCAN_COMPLETE: self.every is None,
            LAST_SCAN_TIME: to_micros(started) // 1000,
        }


def _number(state: Mapping[str, Any], name: str) -> int:
    value = state.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _TOO_LATE:
        raise ProgressStateError(f"global_state.{name}", value, "is not a count or a time", "Repair it in the store")
    return value


def written(value: datetime) -> str:
    """Return a moment as the global state keeps it: as Data Prepper reads it, too."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def moment(state: Mapping[str, Any], name: str) -> datetime | None:
    """Return the moment that the state holds under ``name``, ``None`` when it holds none.

    :raises ProgressStateError: when it holds something else.
    """
    value = state.get(name)
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise ProgressStateError(f"global_state.{name}", value, "is no ISO-8601 moment", "Repair it") from error
    if found.tzinfo is None:
        raise ProgressStateError(f"global_state.{name}", value, "has no time zone", "Repair it")
    return found
