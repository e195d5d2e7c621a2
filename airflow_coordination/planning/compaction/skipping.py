"""Where nothing is compacted now: behind the offset from the newest data, and where something else is at work."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from airflow_coordination.planning.buckets import Granularity
from airflow_coordination.planning.intervals import Interval, umbrella
from airflow_coordination.planning.periods import Period


def behind_offset(latest: datetime, offset: Period, granularity: Granularity | None = None) -> Interval:
    """Return the interval that the offset keeps for ingest, which may be empty.

    It is counted back from the end of the newest data, not from now, and its start rounded down to whole buckets
    (Druid: ``skipOffsetFromLatest``; there from the end of the newest bucket, issue 18780).

    :param latest: where the newest data end.
    """
    start = min(offset.before(latest), latest)
    return Interval(granularity.floor(start) if granularity and start < latest else start, latest)


def skipped(
    latest: datetime, offset: Period, locked: Iterable[Interval], granularity: Granularity | None = None
) -> list[Interval]:
    """Return all of them, the oldest first: what overlaps the offset is one with it."""
    behind = behind_offset(latest, offset, granularity)
    locks = list(locked)
    apart = [one for one in locks if not one.overlaps(behind)]
    together = [one for one in locks if one.overlaps(behind)]
    return sorted([*apart, *([] if behind.is_empty else [umbrella([behind, *together])])])
