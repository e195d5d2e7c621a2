"""How many leases, and until when, the tenures of one driver may still begin together."""

from __future__ import annotations

import threading
import time


class Budget:
    """Counts the leases that a crew begins; safe under threads.

    :param max_leases: how many at most, ``None`` for all there are.
    :param until: own monotonic time after which no further lease is begun.
    """

    def __init__(self, max_leases: int | None, until: float | None) -> None:
        self._left, self._until = max_leases, until
        self._begun = False
        self._lock = threading.Lock()

    @property
    def left(self) -> bool:
        """Whether there is one more lease's worth. The first is there at any time, as for one tenure."""
        late = self._begun and self._until is not None and time.monotonic() >= self._until
        return not late and self._left != 0

    def take(self) -> bool:
        """Take one lease's worth; return whether there was one."""
        with self._lock:
            if not self.left:
                return False
            self._begun = True
            if self._left is not None:
                self._left -= 1
            return True

    def give_back(self) -> None:
        """Give back what no lease was found for."""
        with self._lock:
            if self._left is not None:
                self._left += 1


class Following:
    """The question whether a tenure that completes may acquire the next partition in the same step.

    :param budget: of the crew.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._taken = False

    def __call__(self) -> bool:
        """Take from the budget."""
        self._taken = self._budget.take()
        return self._taken

    def settle(self, *, found: bool) -> None:
        """Give back what was taken for nothing."""
        if self._taken and not found:
            self._budget.give_back()
