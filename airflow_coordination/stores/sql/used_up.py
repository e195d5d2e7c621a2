"""What this process knows to be used up of the queues in PostgreSQL, and when it looks again (decision 14).

While any snapshot is held in the database, the index entries of what was acquired stay, and whoever looks from the
beginning walks over all of them. Who was slow looks once for the floors, and starts at them from then on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql.database import Ask
from airflow_coordination.stores.sql.floors import (
    MOST_SPANS,
    NO_FLOORS,
    Floors,
    Span,
    apart,
    in_order,
    narrowed,
    parameters,
)
from airflow_coordination.stores.sql.statements import used_up
from airflow_coordination.stores.sql.statements.create import PLACES_PER_PAGE
from airflow_coordination.values.input_errors import CoordinationError

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

    ask: Ask
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
        [[page, now, writers]] = self.ask(Call("look who writes", writes=False), used_up.under_way, {})
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
        [[due]] = self.ask(call, used_up.first_due, {"source": source, "due_from": floors.due})
        until = settled.now - _MARGIN
        due = max(floors.due, until if due is None else min(due, until))
        known: list[Span] = []
        rest = list(apart(floors.fresh, _USUAL_PRIORITY))
        while rest and len(known) + 2 * len(rest) < MOST_SPANS:
            heads = self.ask(call, used_up.first_fresh, {"source": source, **parameters("sure", rest)})
            looked_at, rest = rest, []
            for span, (priority, position) in zip(looked_at, heads, strict=True):
                head = None if priority is None else (priority, position)
                found, further = narrowed(span, head, settled.end)
                known += found
                rest += further
        return Floors(in_order(known + rest), due)
