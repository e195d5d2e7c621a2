"""The queue of a source: up to where it is used up, as far as this process knows, and the short way (decision 14).

While any snapshot is held in the database, the index entries of what was acquired stay, and whoever looks from the
beginning walks over all of them. Who was slow looks once for the floors, and starts at them from then on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql.columns import PARTITIONS, Ready, Timed
from airflow_coordination.stores.sql.database import Sender
from airflow_coordination.stores.sql.statements.create import PAGE_SEQUENCE, PLACES_PER_PAGE
from airflow_coordination.stores.sql.statements.dialect import Dialect, of_numbers
from airflow_coordination.values.input_errors import CoordinationError

LOWEST: Final = -(2**62)
_FIRST_PRIORITY: Final = -(2**31)
_LAST_PRIORITY: Final = 2**31 - 1
MOST_SPANS: Final = 32
"""How many ranges a statement is given at most; a source with more priorities in use has no floor for the others."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of priorities with one floor.

    :param first: its smallest priority.
    :param last: its greatest.
    :param low: no fresh partition of these priorities waits below this position.
    """

    first: int
    last: int
    low: int

    def at(self, priority: int, low: int) -> list[Span]:
        """Return the span with a floor of its own for one of its priorities."""
        parts = [
            Span(self.first, priority - 1, self.low),
            Span(priority, priority, max(self.low, low)),
            Span(priority + 1, self.last, self.low),
        ]
        return [part for part in parts if part.first <= part.last]


Spans = tuple[Span, ...]
EVERYTHING: Final[Spans] = (Span(_FIRST_PRIORITY, _LAST_PRIORITY, LOWEST),)


@dataclass(frozen=True, slots=True)
class Floors:
    """What of a source's queue is used up.

    :param fresh: of the fresh partitions; all priorities, in order.
    :param due: nothing that waits for a time waits for an earlier one, microseconds since 1970.
    """

    fresh: Spans = EVERYTHING
    due: int = LOWEST


NO_FLOORS: Final = Floors()


def apart(spans: Spans, priority: int, low: int = LOWEST) -> Spans:
    """Return ``spans`` with one of their own for ``priority``, its floor at ``low`` unless it is higher already."""
    found: list[Span] = []
    for span in spans:
        found += span.at(priority, low) if span.first <= priority <= span.last else [span]
    return tuple(found)


def narrowed(span: Span, first: tuple[int, int] | None, end: int) -> tuple[list[Span], list[Span]]:
    """Return what is known of ``span`` after a look, and what of it has still to be looked at.

    :param first: priority and position of the first partition that waits there, ``None`` when there is none.
    :param end: no partition that the look could not see will ever appear below this position.
    """
    if first is None:
        return [Span(span.first, span.last, max(span.low, end))], []
    priority, position = first
    known, rest = [Span(priority, priority, max(span.low, min(position, end)))], []
    if span.first < priority:
        known.append(Span(span.first, priority - 1, max(span.low, end)))
    if priority < span.last:
        rest.append(Span(priority + 1, span.last, span.low))
    return known, rest


def parameters(name: str, spans: Sequence[Span]) -> dict[str, str]:
    """Return ``spans`` as a statement takes them."""
    return {
        f"{name}_first": of_numbers(span.first for span in spans),
        f"{name}_last": of_numbers(span.last for span in spans),
        f"{name}_low": of_numbers(span.low for span in spans),
    }


def in_order(spans: Iterable[Span]) -> Spans:
    """Return ``spans`` by priority."""
    return tuple(sorted(spans))


_WRITERS = f"""SELECT virtualtransaction FROM pg_catalog.pg_locks WHERE locktype = 'relation'
    AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
    AND relation = '{PARTITIONS}'::regclass AND mode = 'RowExclusiveLock'
    AND pid IS DISTINCT FROM pg_catalog.pg_backend_pid()"""


def under_way(dialect: Dialect) -> str:
    """Return the query of the newest page, the time, and who has been writing partitions since before these two.

    A writer locks the table before it draws the number of its page or asks for the time, until what it wrote can be
    seen. The list is made for the row of the other two, and so after them. Without the right to see the number it is
    ``NULL``.
    """
    return f"""WITH given AS MATERIALIZED (SELECT CASE WHEN has_sequence_privilege('{PAGE_SEQUENCE}', 'USAGE')
            THEN pg_sequence_last_value('{PAGE_SEQUENCE}'::regclass) END AS page, {dialect.now} AS now)
        SELECT page, now, ARRAY({_WRITERS} AND given.now IS NOT NULL) FROM given"""


def spans(name: str) -> str:
    """Return the table of the ranges that a look is given under ``name``."""
    return f"""unnest(CAST(:{name}_first AS INTEGER[]), CAST(:{name}_last AS INTEGER[]), CAST(:{name}_low AS BIGINT[]))
        WITH ORDINALITY AS span (first, last, low, number)"""


def inside(span: str) -> str:
    """Return the condition on a fresh row that it is in a range and not below its floor.

    The last part is checked in the index alone, also where the range has more than one priority.
    """
    return f"""(priority, position) >= ({span}.first, {span}.low)
        AND priority <= {span}.last AND position >= {span}.low"""


def not_used_up(dialect: Dialect) -> str:
    """Return the condition on a row with a time that its time is not below the floor."""
    return "AND due_at >= :due_from" if dialect.locks else ""


def first_fresh(_: Dialect) -> str:
    """Return the query of the first fresh partition of each range, locking none: priority and position or NULL."""
    return f"""SELECT head.priority, head.position FROM {spans("sure")}
        LEFT JOIN LATERAL (SELECT priority, position FROM {PARTITIONS} WHERE source_identifier = :source
            AND ready = {Ready.FRESH:d} AND {inside("span")}
            ORDER BY priority, position, ordinal LIMIT 1) AS head ON true
        ORDER BY span.number"""


def first_due(_: Dialect) -> str:
    """Return the query of the first time that anything waits for, NULL when nothing does."""
    times = ", ".join(
        f"(SELECT min(due_at) FROM {PARTITIONS} WHERE source_identifier = :source AND timed = {timed:d}"
        f" AND due_at >= :due_from)"
        for timed in Timed
    )
    return f"SELECT least({times})"


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


SHORT_WAY_SECONDS: Final = 1.0
"""How long after a miss only the whole order is asked: what goes before the fresh ones mostly is not alone."""


@dataclass(slots=True)
class ShortWay:
    """What this process remembers of its misses.

    :param clock: monotonic seconds; it decides which statement is asked first, and never what is there.
    """

    clock: Callable[[], float] = time.monotonic
    _misses: dict[str, float] = field(default_factory=dict)

    def is_worth_it(self, source: str) -> bool:
        """Return whether the short statement is likely to find something in this source."""
        missed = self._misses.get(source)
        return missed is None or self.clock() - missed >= SHORT_WAY_SECONDS

    def missed(self, source: str) -> None:
        """Note that it found nothing."""
        self._misses[source] = self.clock()


SLOW: Final = 0.2
"""After how many seconds a look counts as slow."""
SOON: Final = 2.0
SHARE: Final = 50
"""A look from the beginning is taken when so many times its own time has passed: it costs 2 % at most."""
SELDOM: Final = 300.0
"""And at the latest after so many seconds: what nobody could expect below a floor waits no longer."""
_AGAIN: Final = 10
_MARGIN: Final = 10_000_000
"""Microseconds: a statement has its time a moment before it locks the table."""
_USUAL_PRIORITY: Final = 0


@dataclass(frozen=True, slots=True)
class Settled:
    """A moment before which everything that was ever written can be seen.

    :param page: the newest page of creations then.
    :param now: the store's time then.
    """

    page: int
    now: int

    @property
    def end(self) -> int:
        """The position behind the page."""
        return (self.page + 1) * PLACES_PER_PAGE


@dataclass(frozen=True, slots=True)
class _Known:
    floors: Floors = NO_FLOORS
    slow: bool = False
    again_at: float = 0.0
    whole_at: float = 0.0


@dataclass(slots=True)
class UsedUp:
    """The floors of each source, found by whoever was slow.

    :param ask: executes a statement in a transaction of its own.
    :param slow: after how many seconds a look counts as slow.
    :param clock: monotonic seconds; it decides when to look, and never what is there.
    """

    ask: Sender
    slow: float = SLOW
    clock: Callable[[], float] = time.monotonic
    _known: dict[str, _Known] = field(default_factory=dict)
    _settled: Settled | None = None
    _waiting: tuple[Settled, frozenset[str]] | None = None

    def of(self, source: str) -> Floors:
        """Return from where on a look at the queue has to start."""
        known = self._known.get(source)
        return known.floors if known else NO_FLOORS

    def before(self, source: str) -> float:
        """Look for the floors if a look at this source was slow; return the time at which the next one begins."""
        known = self._known.get(source)
        began = self.clock()
        if known is None or not ((known.slow and began >= known.again_at) or began >= known.whole_at):
            return began
        try:
            self._look(source, began)
        except CoordinationError:  # what was not looked at is not known to be used up; whoever asks hears of a failure
            self._known.pop(source, None)
        return self.clock()

    def after(self, source: str, began: float) -> None:
        """Note how long a look took that began at ``began``."""
        if self.clock() - began >= self.slow:
            known = self._known.get(source) or _Known(whole_at=began)
            self._known[source] = replace(known, slow=True)

    def _look(self, source: str, began: float) -> None:
        settled = self._settle()
        if settled is None:
            return
        known = self._known.get(source) or _Known(whole_at=began)
        whole = began >= known.whole_at
        floors = self._raise(source, NO_FLOORS if whole else known.floors, settled)
        took = self.clock() - began
        if whole and took < self.slow:
            self._known.pop(source, None)
            return
        whole_at = began + min(max(SOON, SHARE * took), SELDOM) if whole else known.whole_at
        self._known[source] = _Known(floors, slow=False, again_at=began + max(SOON, _AGAIN * took), whole_at=whole_at)

    def _settle(self) -> Settled | None:
        """Return the newest settled moment that is known now, ``None`` when there is none."""
        [[page, now, writers]] = self.ask(Call("look who writes", writes=False), under_way, {})
        if page is None:
            return None
        newest, writing = Settled(page, now), frozenset(writers)
        if self._settled and (page < self._settled.page or now < self._settled.now):
            self._known.clear()  # another server, or another time: what was known is of no use
            self._settled = self._waiting = None
        if not writing:
            self._settled, self._waiting = newest, None
        elif self._waiting is None:
            self._waiting = newest, writing
        elif not writing & self._waiting[1]:
            self._settled, self._waiting = self._waiting[0], (newest, writing)
        return self._settled

    def _raise(self, source: str, floors: Floors, settled: Settled) -> Floors:
        """Look at what waits first, and return the floors below it."""
        call = Call("look what is used up", writes=False)
        [[due]] = self.ask(call, first_due, {"source": source, "due_from": floors.due})
        until = settled.now - _MARGIN
        due = max(floors.due, until if due is None else min(due, until))
        known: list[Span] = []
        rest = list(apart(floors.fresh, _USUAL_PRIORITY))
        while rest and len(known) + 2 * len(rest) < MOST_SPANS:
            heads = self.ask(call, first_fresh, {"source": source, **parameters("sure", rest)})
            looked_at, rest = rest, []
            for span, (priority, position) in zip(looked_at, heads, strict=True):
                head = None if priority is None else (priority, position)
                found, further = narrowed(span, head, settled.end)
                known += found
                rest += further
        return Floors(in_order(known + rest), due)
