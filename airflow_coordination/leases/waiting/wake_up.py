"""Waking up for waiting work: an edge for what is new, a level for what is left alone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

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
