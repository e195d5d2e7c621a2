"""Idleness: nobody takes what can be acquired; and waking up for it. Told by looks, never by a clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any, Final, Self

from airflow_coordination.protocol.results import Outlook, Swept

IDLE_LOOKS: Final = 3
"""Looks after the first one that must see that nobody has taken anything."""
FRONT: Final = 500
"""Hints that are compared: acquisitions take from the front of the order, the workers of a fleet on DynamoDB from
its first 300."""
_CHECKSUM: Final = 8
"""Characters at the end of a hint that tell it from the others."""


@dataclass(frozen=True, slots=True)
class Idleness:
    """The newest of several looks at a source in which work waits and nobody holds a lease.

    :param completed: how many partitions were completed.
    :param waiting: how many waited for their time; of more than 1,000 some stores say 1,000.
    :param parked: how many were parked; likewise.
    :param front: the first hints in the acquisition order, short; an acquisition changes the partition's hint for ever.
    :param looks: how many looks before this one saw the same source, and nobody had taken anything since.
    :param next_due: when the first of the waiting ones is due, as text. It tells that one was due where their number
        is the same because it is not counted any further.
    """

    completed: int
    waiting: int
    parked: int
    front: tuple[str, ...]
    looks: int = 0
    next_due: str | None = None

    @classmethod
    def seen(cls, before: Self | None, outlook: Outlook, swept: Swept, hints: Sequence[str]) -> Self | None:
        """Return what this look adds to the one before; ``None`` while somebody is at work or nothing can be acquired.

        A look that comes because a partition was due is no evidence, and does not count: it follows too soon.

        :param before: what the look before returned.
        :param swept: what this look's sweep did; a lease that it reclaimed was held until now.
        :param hints: what can be acquired, in the acquisition order.
        """
        if not hints or outlook.assigned or swept.reclaimed or swept.parked:
            return None
        front = tuple(hint[-_CHECKSUM:] for hint in hints[:FRONT])
        next_due = outlook.next_due.isoformat() if outlook.next_due else None
        now = cls(outlook.completed, outlook.waiting, outlook.parked, front, next_due=next_due)
        if before is None or now._somebody_worked_since(before):
            return now
        became_due = now.waiting < before.waiting or now.next_due != before.next_due
        return replace(now, looks=before.looks + (not became_due))

    @classmethod
    def from_json(cls, value: object) -> Self | None:
        """Return what :meth:`to_json` gave, ``None`` for anything else."""
        if not isinstance(value, dict):
            return None
        try:
            return cls(**{**value, "front": tuple(value["front"])})
        except (KeyError, TypeError):
            return None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self) | {"front": list(self.front)}

    @property
    def lasts(self) -> bool:
        """Whether enough looks have seen it."""
        return self.looks >= IDLE_LOOKS

    def _somebody_worked_since(self, before: Idleness) -> bool:
        ended = self.completed > before.completed or self.waiting > before.waiting or self.parked > before.parked
        return ended or _taken(before.front, self.front)


def _taken(before: Iterable[str], now: Sequence[str]) -> bool:
    """Return whether one of the hints is gone. What others have pushed behind a full front is not gone."""
    there = set(now)
    kept = [hint in there for hint in before]
    while len(now) == FRONT and any(kept) and not kept[-1]:
        kept.pop()
    return not all(kept)


LONGEST_REMINDER: Final = timedelta(hours=1)


class WakeUp:
    """Decides when waiting work is worth an event. A hint names an opportunity: whoever takes it makes its token grow.

    It is due for work it has not told of; for the rest of what it told of, once somebody has taken some and nobody is
    at work any more; and again, ever more rarely, for what nobody takes. So work is never left alone, and a run that
    cannot take any is not started all the time.

    :param remind_after: seconds after which it is first due for the same work again.
    :param most_hints: how many hints are listed at most. When there are more, others follow as the first are taken:
        they are no news.
    """

    def __init__(self, remind_after: float, most_hints: int) -> None:
        self._remind_after = remind_after
        self._most_hints = most_hints
        self._told: frozenset[str] = frozenset()
        self._some_taken = False
        self._pause = remind_after
        self._remind_at = 0.0

    def is_due(self, hints: Iterable[str], at_work: bool, now: float) -> bool:
        """Return whether to tell of this work now.

        :param hints: what can be acquired.
        :param at_work: whether somebody holds a lease.
        :param now: seconds on a clock that never goes back.
        """
        waiting = frozenset(hints)
        self._some_taken |= not self._told <= waiting
        self._told &= waiting
        news = waiting > self._told and (len(waiting) < self._most_hints or not self._told)
        left_alone = self._some_taken and not at_work
        if not waiting or not (news or left_alone or now >= self._remind_at):
            return False
        longer = min(2 * self._pause, max(LONGEST_REMINDER.total_seconds(), self._remind_after))
        self._pause = self._remind_after if news or left_alone else longer
        self._told, self._some_taken, self._remind_at = waiting, False, now + self._pause
        return True
