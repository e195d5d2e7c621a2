"""What ended in each five minutes of a source, as the board tells it.

Each look counts on from the sums that are stored, 1,500 endings at most. Where no duty stores any, this server counts
from its own start on, and keeps the sums of the sources that were looked at last.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from datetime import timedelta
from threading import Lock
from time import monotonic
from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.reading import Read
from airflow_coordination.board.source_models import EndedPage, EndedSlot
from airflow_coordination.board.visibility import coordinator_of, open_visible
from airflow_coordination.monitoring.ended import EndedDay, ended_day
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.beside.ended_sums import SLOT, EndedSums

_STARTED: Final = monotonic()
MOST_SOURCES: Final = 200
"""Of so many sources this server keeps what it has counted, at most 289 rows each."""


class Kept:
    """What this server has counted, by store and source; it knows no user."""

    def __init__(self) -> None:
        self._lock, self._rows = Lock(), OrderedDict[tuple[str, str], list[EndedSums]]()

    def of(self, store_id: str, source: str) -> Sequence[EndedSums]:
        """Return what was counted of a source, the newest first."""
        with self._lock:
            return self._rows.get((store_id, source), ())

    def keep(self, store_id: str, source: str, rows: list[EndedSums]) -> None:
        """Keep it; of too many sources that which was looked at longest ago is forgotten."""
        with self._lock:
            self._rows[store_id, source] = rows
            self._rows.move_to_end((store_id, source))
            while len(self._rows) > MOST_SOURCES:
                self._rows.popitem(last=False)


KEPT: Final = Kept()
"""The one of this process."""


def ended_page(user: BaseUser, connection: str, source: str) -> Read[EndedPage]:
    """Return what ended in the last day.

    :raises NotVisibleError: when the user does not see such a source.
    :raises StoreDoesNotAnswerError: when the store does not.
    """
    with open_visible(user, connection, source) as (store, seen):
        book, now = coordinator_of(user, store, seen).looking.ended, store.now()
        typed = remedies.about(remedies.shell_of(store), "ended", source)
        if not book.are_kept:
            return Read(EndedPage(seconds=SLOT.seconds, typed=typed), now)
        begin = now - timedelta(seconds=monotonic() - _STARTED)
        day, rows = ended_day(book, now, begin, KEPT.of(store.store_id, source))
        KEPT.keep(store.store_id, source, rows)
        return Read(_page(day, typed), now)


def _page(day: EndedDay, typed: str) -> EndedPage:
    return EndedPage(
        kept=True,
        seconds=SLOT.seconds,
        start=day.start,
        since=day.since,
        counted_to=day.counted_to,
        whole=day.whole,
        by_duty=day.by_duty,
        slots=[slot_view(row) for row in day.rows if row.completed or row.failed or row.lost or row.rows],
        typed=typed,
    )


def slot_view(row: EndedSums) -> EndedSlot:
    """Return the sums of a slot, as the board tells them."""
    return EndedSlot(
        at=row.start, completed=row.completed, failed=row.failed, lost=row.lost, rows=row.rows, bytes=row.bytes
    )
