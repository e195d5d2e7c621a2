"""What ended in each five minutes of the last three hours in all sources together, and in each: the first page's chart.

It shows what the duty ``countEnded`` has stored, and counts nothing itself: that would be a look at each history.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from threading import Lock
from time import monotonic
from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.charts.ended import slot_view
from airflow_coordination.board.source_models import EndedLately, SourceEnded
from airflow_coordination.board.stores import StoreDoesNotAnswerError, connections, opened
from airflow_coordination.board.visibility import visible_sources
from airflow_coordination.monitoring.ended import EndedDay, ended_lately
from airflow_coordination.protocol.beside.ended_sums import SLOT, EndedSums
from airflow_coordination.protocol.port import Ended, PartitionStore, parts_of
from airflow_coordination.values.names import UPKEEP, split_source

SLOTS: Final = 36
"""Three hours."""
SOURCES: Final = 50
"""The sums of so many sources are read at one look, those first that were read longest ago: 1,850 rows at most."""
LIFE: Final = 20.0
"""Seconds for which they are kept at least: they change every five minutes."""
MOST_SOURCES: Final = 2_000
"""Of so many sources this server keeps them."""


class Lately:
    """The sums of the sources that were looked at last, by store and source; it knows no user."""

    def __init__(self) -> None:
        self._lock, self._known = Lock(), OrderedDict[tuple[str, str], tuple[float, EndedDay | None]]()

    def latest(self, store: PartitionStore, kept: Ended, sources: Sequence[str], most: int) -> tuple[_Days, int]:
        """Return what is known of sources, by their names, and how many of them were read for it.

        :param most: so many are read at most; who looks at the same moment waits for them.
        """
        with self._lock:
            since, place = monotonic() - LIFE, store.store_id
            old = [each for each in sources if self._read_at(place, each) <= since]
            chosen = sorted(old, key=lambda each: self._read_at(place, each))[:most]
            now = store.now() if chosen else None
            for each in chosen:
                assert now is not None, "some are read"
                day = ended_lately(kept.ended_sums(each, SLOTS + 1), now, SLOTS)
                self._known[place, each] = (monotonic(), day)
                self._known.move_to_end((place, each))
            found = {each: self._known[place, each][1] for each in sources if (place, each) in self._known}
            while len(self._known) > MOST_SOURCES:
                self._known.popitem(last=False)
            return {name: day for name, day in found.items() if day is not None}, len(chosen)

    def _read_at(self, place: str, source: str) -> float:
        known = self._known.get((place, source))
        return known[0] if known else float("-inf")


_Days = dict[str, EndedDay]
LATELY: Final = Lately()
"""The one of this process."""


def ended_lately_page(user: BaseUser, dag: str | None) -> EndedLately:
    """Return what ended lately in all sources that the user sees; a store that does not answer is left out.

    :param dag: only in those that this DAG has registered.
    """
    found: list[tuple[str, str, EndedDay]] = []
    number, kept, left = 0, False, SOURCES
    for connection in connections():
        try:
            with opened(connection) as store:
                seen = [each.identifier for each in visible_sources(user, store) if dag is None or dag in each.dags]
                number += sum(map(_is_work, seen))
                if ended := parts_of(store).ended:
                    days, read = LATELY.latest(store, ended, seen, left)
                    left, kept = left - read, True
                    found += [(connection, source, day) for source, day in days.items()]
        except StoreDoesNotAnswerError:
            continue
    return _page(found, number, kept=kept)


def _is_work(source: str) -> bool:
    return not split_source(source)[1].startswith(UPKEEP)


def _page(found: list[tuple[str, str, EndedDay]], number: int, *, kept: bool) -> EndedLately:
    work = [day for _, source, day in found if _is_work(source)]
    page = EndedLately(kept=kept, seconds=SLOT.seconds, number=SLOTS, of=number, counted=len(work))
    if not found:
        return page
    start = max(day.start for _, _, day in found)
    starts = [start + SLOT * place for place in range(SLOTS)]
    sums: dict[datetime, EndedSums] = {}
    for row in (row for day in work for row in day.rows):
        sums[row.start] = _added(sums.get(row.start, EndedSums.none_yet(row.start)), row)
    more = {
        "start": start,
        "since": min((day.since for day in work), default=start),
        "counted_to": max((day.counted_to for day in work), default=start),
        "by_duty": all(day.by_duty for day in work),
        "slots": [slot_view(sums[each]) for each in starts if each in sums],
        "sources": [_of_source(connection, source, day, starts) for connection, source, day in found],
    }
    return page.model_copy(update=more)


def _added(one: EndedSums, other: EndedSums) -> EndedSums:
    sums = {
        name: getattr(one, name) + getattr(other, name) for name in ("completed", "failed", "lost", "rows", "bytes")
    }
    return replace(one, **sums)


def _of_source(connection: str, source: str, day: EndedDay, starts: Sequence[datetime]) -> SourceEnded:
    rows = {row.start: row for row in day.rows}
    each = [rows.get(start, EndedSums.none_yet(start)) for start in starts]
    return SourceEnded(
        store=connection,
        source=source,
        since=day.since,
        counted_to=day.counted_to,
        completed=[row.completed for row in each],
        others=[row.failed + row.lost for row in each],
    )
