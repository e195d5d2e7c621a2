"""How many tenures of a source ended in each five minutes, for charts: counted from the history, once each.

A row says up to when its five minutes are counted, and is written under the condition that nobody has counted on
meanwhile. So whoever dies in the middle is followed by whoever comes next, and two at once count nothing twice. The
sums are a display and never decide anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from airflow_coordination.values.status import Outcome
from airflow_coordination.values.times import EPOCH

SLOT: Final = timedelta(minutes=5)
"""What one row is about."""
MOST_SLOTS: Final = 288
"""Rows of a chart, a day of them."""
LATE: Final = timedelta(minutes=1)
"""How long after an ending its row of the history is there surely: a statement ends within ten seconds, an index of
DynamoDB follows within some. What comes later is counted by nobody."""
PORTION: Final = 2_000
"""Rows of the history that are read at once."""
KEPT: Final = timedelta(days=2)
"""How long a row of sums is kept."""


class EndedTenure(NamedTuple):
    """What is counted of a tenure that has ended."""

    ended_at: datetime
    outcome: Outcome
    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedSums:
    """What ended in five minutes of a source. Times are the store's, in UTC.

    :param start: when they begin, a whole multiple of :data:`SLOT`.
    :param counted_to: up to when the history is counted, itself excluded; their end once they are over.
    :param completed: tenures that completed their partition.
    :param failed: tenures that failed.
    :param lost: tenures whose lease expired. Other endings (closed, released, handed over) are counted nowhere.
    :param rows: rows that were published by all of them.
    :param bytes: bytes that were published by all of them.
    """

    start: datetime
    counted_to: datetime
    completed: int = 0
    failed: int = 0
    lost: int = 0
    rows: int = 0
    bytes: int = 0

    @classmethod
    def none_yet(cls, moment: datetime) -> EndedSums:
        """Return the row of the five minutes in which a moment lies, before anything of it is counted."""
        start = slot_of(moment)
        return cls(start=start, counted_to=start)

    @property
    def end(self) -> datetime:
        """When these five minutes are over."""
        return self.start + SLOT

    @property
    def endings(self) -> int:
        """How many endings are counted."""
        return self.completed + self.failed + self.lost

    def adding(self, other: EndedSums) -> EndedSums:
        """Return what ended in both, with the times of these: for the same five minutes of several sources."""
        names = (*(each.value for each in COUNTED), "rows", "bytes")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in names})

    def counting(self, tenure: EndedTenure) -> EndedSums:
        """Return them with one tenure more."""
        counted = {each.value: getattr(self, each.value) + (tenure.outcome is each) for each in COUNTED}
        return replace(self, rows=self.rows + tenure.rows, bytes=self.bytes + tenure.bytes, **counted)


COUNTED: Final = (Outcome.COMPLETED, Outcome.FAILED, Outcome.LOST)
"""The endings that are counted."""


def slot_of(moment: datetime) -> datetime:
    """Return when the five minutes begin in which a moment lies."""
    return moment - (moment - EPOCH) % SLOT


def carried_on(last: EndedSums, tenures: Iterable[EndedTenure], to: datetime) -> list[EndedSums]:
    """Return the rows that counting on changes or makes, the oldest first; five minutes without an ending have none.

    The last of them says up to when is counted, even if nothing ended there.

    :param last: the newest row, as it is.
    :param tenures: all that ended from where it is counted to up to ``to``, in any order.
    :param to: up to when they are, itself excluded.
    """
    if to <= last.counted_to:
        return []
    newest = EndedSums.none_yet(to - timedelta(microseconds=1))
    found = {newest.start: newest, last.start: last}
    for tenure in tenures:
        start = slot_of(tenure.ended_at)
        found[start] = found.get(start, EndedSums.none_yet(start)).counting(tenure)
    counted = (replace(found[start], counted_to=min(to, start + SLOT)) for start in sorted(found))
    return [each for each in counted if each.start != last.start or each.counted_to > last.counted_to]


Read = Callable[[datetime, datetime, int], Sequence[EndedTenure]]
"""Returns the first endings from a time up to another one, that excluded, the oldest first, so many at most."""


def next_portion(last: EndedSums, read: Read, until: datetime, limit: int) -> list[EndedSums]:
    """Return the rows that one portion of the history more changes or makes, the oldest first.

    A portion never ends between two endings of one moment, of which one sweep makes many: where it is full, those of
    its last moment are left to the next one. Where they fill it alone, twice as many are read.

    :param last: the newest row, as it is.
    :param read: reads the history.
    :param until: up to when it may be counted, itself excluded.
    :param limit: how many endings are read.
    """
    if until <= last.counted_to:
        return []
    while True:
        tenures = read(last.counted_to, until, limit)
        if len(tenures) < limit:
            return carried_on(last, tenures, until)
        to = tenures[-1].ended_at
        whole = [each for each in tenures if each.ended_at < to]
        if whole:
            return carried_on(last, whole, to)
        limit *= 2


def beginning(newest: EndedSums | None, begin: datetime, now: datetime) -> EndedSums:
    """Return the row from which is counted on.

    :param newest: the newest that is kept; ``None`` where there is none.
    :param begin: where counting begins where nobody has counted yet.
    :param now: by the store's clock. What is longer ago than a chart shows is counted no more.
    """
    oldest = slot_of(now) - SLOT * (MOST_SLOTS - 1)
    if newest is not None and newest.counted_to > oldest:
        return newest
    return EndedSums.none_yet(max(slot_of(begin), oldest))
