"""What ended in each five minutes of a source in the last day, as a chart shows it.

What is stored is counted on from where the duty ``countEnded`` has got to. Where that duty runs nowhere, whoever looks
counts from a beginning of their own, and that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from airflow_coordination.leases.viewing.ended import EndedBook
from airflow_coordination.protocol.beside.ended_sums import (
    LATE,
    MOST_SLOTS,
    SLOT,
    EndedSums,
    beginning,
    next_portion,
    slot_of,
)

LOOK: Final = 1_500
"""Rows of the history that one look counts at most: with the sums of a day that is less than 2,000 rows."""
STALE: Final = timedelta(minutes=15)
"""If nothing was stored for so long, no duty runs: it is due every five minutes."""


@dataclass(frozen=True, slots=True)
class EndedDay:
    """What ended in the last day.

    :param rows: what is known of five minutes, the oldest first; those that are missing between had no ending.
    :param start: when the day begins: 288 times five minutes, the last of which are under way.
    :param since: from when on all is counted.
    :param counted_to: up to when it is counted, itself excluded.
    :param by_duty: whether a duty has counted what there is of late.
    """

    rows: tuple[EndedSums, ...]
    start: datetime
    since: datetime
    counted_to: datetime
    by_duty: bool

    @property
    def whole(self) -> bool:
        """Whether it is known of the whole day."""
        return self.since <= self.start


def ended_lately(stored: Sequence[EndedSums], now: datetime, slots: int) -> EndedDay | None:
    """Return what a duty has stored of the last slots; ``None`` where none has stored anything.

    :param stored: the newest sums of a source, one more than slots where there are so many, the newest first.
    :param now: by the store's clock.
    :param slots: of five minutes.
    """
    if not stored:
        return None
    start, counted_to = slot_of(now) - SLOT * (slots - 1), stored[0].counted_to
    return EndedDay(
        rows=tuple(row for row in reversed(stored) if row.start >= start),
        start=start,
        since=max(start, stored[-1].start),
        counted_to=counted_to,
        by_duty=counted_to > now - STALE,
    )


PACE: Final = timedelta(hours=1)
"""Of so long the pace is that a first page names: long enough for partitions of half an hour, short for a night."""


def pace(day: EndedDay) -> float | None:
    """Return how many partitions were completed a minute in the hour up to where it is counted.

    ``None`` where it is not known: no duty has counted of late, or it has for less than five minutes.
    """
    since = max(day.since, slot_of(day.counted_to - PACE))
    if not day.by_duty or day.counted_to - since < SLOT:
        return None
    completed = sum(row.completed for row in day.rows if row.start >= since)
    return completed / ((day.counted_to - since) / timedelta(minutes=1))


def continued(newest: Sequence[EndedSums], known: Sequence[EndedSums]) -> list[EndedSums]:
    """Return the newest rows with those that were known before behind them, the newest first.

    Where a row that was known is gone by now, what was before it is forgotten.

    :param newest: read now, back to where something is known, the newest first.
    :param known: what was read before, the newest first.
    """
    if not newest or not known or newest[-1].start > known[0].start:
        return list(newest)
    return [*newest, *(row for row in known if row.start < newest[-1].start)]


def ended_day(
    book: EndedBook, now: datetime, begin: datetime, known: Sequence[EndedSums] = (), limit: int = LOOK
) -> tuple[EndedDay, list[EndedSums]]:
    """Return what ended in the last day, and what to give as ``known`` at the next look.

    It reads the sums of a day and ``limit`` rows of the history, and writes nothing.

    :param book: of a source whose store keeps a history.
    :param now: by the store's clock.
    :param begin: where to begin where nobody has counted.
    :param known: what this process has counted at its last look, the newest first.
    :param limit: how many endings are read at most.
    """
    stored = book.newest(MOST_SLOTS + 1)
    rows = stored if _is_better(stored, known) else known
    last = beginning(rows[0] if rows else None, begin, now)
    counted = {row.start: row for row in (*reversed(rows), *next_portion(last, book.between, now - LATE, limit))}
    newest = [counted[start] for start in sorted(counted, reverse=True)][: MOST_SLOTS + 1]
    start = slot_of(now) - SLOT * (MOST_SLOTS - 1)
    day = EndedDay(
        rows=tuple(row for row in reversed(newest) if row.start >= start),
        start=start,
        since=max(start, newest[-1].start if newest else last.start),
        counted_to=newest[0].counted_to if newest else last.counted_to,
        by_duty=bool(stored) and stored[0].counted_to > now - STALE,
    )
    return day, newest


def _is_better(stored: Sequence[EndedSums], known: Sequence[EndedSums]) -> bool:
    """Return whether what is stored reaches further than what is known, forward or back."""
    if not stored or not known:
        return bool(stored)
    return stored[0].counted_to >= known[0].counted_to or stored[-1].start < known[-1].start
