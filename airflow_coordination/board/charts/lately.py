"""What ended lately in each five minutes, in all sources together and in each: the first page's chart.

It shows what the duty ``countEnded`` has stored, and counts nothing itself: that would be a look at each history.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from time import monotonic
from typing import Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.charts.ended import slot_view
from airflow_coordination.board.source_models import EndedLately, SourceEnded
from airflow_coordination.board.stores import StoreDoesNotAnswerError, connections, opened
from airflow_coordination.board.visibility import visible_sources
from airflow_coordination.monitoring.ended import EndedDay, continued, ended_lately, pace
from airflow_coordination.protocol.beside.ended_sums import MOST_SLOTS, SLOT, EndedSums, slot_of
from airflow_coordination.protocol.beside.parts import Ended, parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.names import UPKEEP, split_source

SLOTS: Final = 36
"""Three hours."""
ROWS: Final = 1_850
"""Sums that are read at one look: of 50 sources for three hours, of those first that were read longest ago."""
LIFE: Final = 20.0
"""Seconds for which they are kept at least: they change every five minutes."""
MOST_SOURCES: Final = 2_000
"""Of so many sources this server keeps three hours."""
MOST_DAYS: Final = 200
"""And of so many a day: the first by name, 289 rows each."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What was read of a source.

    :param at: when, on a clock that nobody sets, in seconds.
    :param rows: its sums, the newest first.
    :param day: what they say.
    """

    at: float
    rows: tuple[EndedSums, ...]
    day: EndedDay | None


@dataclass(slots=True)
class Known:
    """What one look finds.

    :param days: of the sources of which something is known, by their names.
    :param read: so many rows were read for it.
    :param behind: so many sources were never read yet: there are more of them than one look reads.
    """

    days: dict[str, EndedDay] = field(default_factory=dict)
    read: int = 0
    behind: int = 0


class Lately:
    """The sums of the sources that were looked at last, by store and source; it knows no user.

    :param slots: so many of each are kept; of one that was read before only the newest are read again.
    :param most_sources: of so many sources.
    """

    def __init__(self, slots: int, most_sources: int) -> None:
        self.slots, self.most_sources = slots, most_sources
        self._lock, self._known = Lock(), OrderedDict[tuple[str, str], Looked]()

    def latest(self, store: PartitionStore, kept: Ended, sources: Sequence[str], rows: int) -> Known:
        """Return what is known of sources. Who looks at the same moment waits for what is read.

        :param rows: so many are read at most.
        """
        with self._lock:
            place, found, since = store.store_id, Known(), monotonic() - LIFE
            old = [each for each in sources if self._read_at(place, each) <= since]
            now = store.now() if old else None
            for each in sorted(old, key=lambda each: self._read_at(place, each)):
                assert now is not None, "some are old"
                limit = self._wanted(place, each, now)
                if found.read + limit > rows:
                    break
                found.read += self._look(kept, (place, each), now, limit)
            known = {each: self._known.get((place, each)) for each in sources}
            found.behind = sum(looked is None for looked in known.values())
            found.days = {name: looked.day for name, looked in known.items() if looked and looked.day}
            while len(self._known) > self.most_sources:
                self._known.popitem(last=False)
            return found

    def _look(self, kept: Ended, of: tuple[str, str], now: datetime, limit: int) -> int:
        """Read the newest sums of a source; return how many rows that were, one of none."""
        before, newest = self._known.get(of), kept.ended_sums(of[1], limit)
        rows = continued(newest, before.rows if before else ())[: self.slots + 1]
        self._known[of] = Looked(monotonic(), tuple(rows), ended_lately(rows, now, self.slots))
        self._known.move_to_end(of)
        return max(1, len(newest))

    def _wanted(self, place: str, source: str, now: datetime) -> int:
        """Return how many rows lead back to the newest one that is known."""
        known = self._known.get((place, source))
        if known is None or not known.rows:
            return self.slots + 1
        return max(1, min((slot_of(now) - known.rows[0].start) // SLOT, self.slots) + 1)

    def _read_at(self, place: str, source: str) -> float:
        known = self._known.get((place, source))
        return known.at if known else float("-inf")


LATELY: Final = Lately(SLOTS, MOST_SOURCES)
A_DAY: Final = Lately(MOST_SLOTS, MOST_DAYS)
"""The ones of this process. A day is read when somebody asks for it."""


def ended_lately_page(user: BaseUser, dag: str | None, *, day: bool = False) -> EndedLately:
    """Return what ended lately in all sources that the user sees; a store that does not answer is left out.

    :param dag: only in those that this DAG has registered.
    :param day: of a day; otherwise of three hours.
    """
    found: list[tuple[str, str, EndedDay]] = []
    sums = A_DAY if day else LATELY
    page = EndedLately(kept=False, seconds=SLOT.seconds, number=sums.slots, of=0, counted=0)
    left = ROWS
    for connection in connections():
        try:
            with opened(connection) as store:
                seen = [each.identifier for each in visible_sources(user, store) if dag is None or dag in each.dags]
                page.of += sum(map(_is_work, seen))
                if ended := parts_of(store).ended:
                    wanted = sorted(filter(_is_work, seen))[: sums.most_sources] if day else seen
                    known = sums.latest(store, ended, wanted, left)
                    left, page.kept, page.behind = left - known.read, True, page.behind + known.behind
                    found += [(connection, source, day) for source, day in known.days.items()]
        except StoreDoesNotAnswerError:
            continue
    return _told(page, found, pictures=not day)


def _is_work(source: str) -> bool:
    return not split_source(source)[1].startswith(UPKEEP)


def _told(page: EndedLately, found: list[tuple[str, str, EndedDay]], *, pictures: bool) -> EndedLately:
    """Return the page with what was found: in all sources together, and in each where its picture is wanted."""
    work = [day for _, source, day in found if _is_work(source)]
    if not found:
        return page
    start = max(day.start for _, _, day in found)
    starts = [start + SLOT * place for place in range(page.number)]
    sums: dict[datetime, EndedSums] = {}
    for row in (row for day in work for row in day.rows):
        before = sums.get(row.start)
        sums[row.start] = before.adding(row) if before else row
    more = {
        "counted": len(work),
        "start": start,
        "since": min((day.since for day in work), default=start),
        "counted_to": max((day.counted_to for day in work), default=start),
        "by_duty": all(day.by_duty for day in work),
        "slots": [slot_view(sums[each]) for each in starts if each in sums],
        "sources": [_of_source(*each, starts) for each in found] if pictures else [],
    }
    return page.model_copy(update=more)


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
        per_minute=pace(day),
    )
