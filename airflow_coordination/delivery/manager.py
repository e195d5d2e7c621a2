"""All acknowledgment sets of a process (Data Prepper: ``AcknowledgementSetManager``)."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

from airflow_coordination.delivery.acknowledgment_set import AcknowledgmentSet, Callback, SetStatus
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.times import Clock, SystemClock

DEFAULT_TIMEOUT = Settings().acknowledgment_timeout
"""How long a set waits unless it is said (Data Prepper: ``acknowledgment_timeout``)."""
_WAITING = (SetStatus.OPEN, SetStatus.COMPLETE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerCounts:
    """Counts of sets, and of what became of them: ``created`` is always the sum of the others.

    :param open: sets that wait.
    """

    created: int = 0
    open: int = 0
    positive: int = 0
    negative: int = 0
    expired: int = 0
    cancelled: int = 0


class AcknowledgmentSetManager:
    """Makes sets, and finds those that expired. It has no thread: its user looks, as often as expiry may be late.

    :param clock: the time of all its sets.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._open: list[AcknowledgmentSet] = []
        self._ended: Counter[SetStatus] = Counter()
        self._shut = False
        self._lock = threading.Lock()

    def create(
        self, callback: Callback, timeout: timedelta = DEFAULT_TIMEOUT, *, notify_on_expiry: bool = False
    ) -> AcknowledgmentSet:
        """Return a new set; the parameters are those of :class:`AcknowledgmentSet`.

        :raises CoordinationError: after :meth:`shutdown`.
        """
        made = AcknowledgmentSet(callback, timeout, clock=self._clock, notify_on_expiry=notify_on_expiry)
        with self._lock:
            if self._shut:
                raise CoordinationError("Acknowledgments were shut down: read no further records in this process")
            self._open.append(made)
        return made

    def look(self) -> ManagerCounts:
        """Expire what is due, run due progress checks, let go of what has ended, and return the counts."""
        for each in self._all():
            if (status := each.look()) not in _WAITING:
                self._let_go(each, status)
        return self.counts()

    def counts(self) -> ManagerCounts:
        """Return how many sets wait, and what became of the others. A set that is due counts as expired."""
        with self._lock:
            statuses = [(each, each.status) for each in self._open]
            waiting = [each for each, status in statuses if status in _WAITING]
            ended = self._ended + Counter(status for _, status in statuses if status not in _WAITING)
        return ManagerCounts(
            created=ended.total() + len(waiting),
            open=len(waiting),
            positive=ended[SetStatus.POSITIVE],
            negative=ended[SetStatus.NEGATIVE],
            expired=ended[SetStatus.EXPIRED],
            cancelled=ended[SetStatus.CANCELLED],
        )

    def shutdown(self) -> None:
        """Cancel every set that waits, and make no further one. A callback that runs already comes to its end."""
        with self._lock:
            self._shut = True
        for each in self._all():
            each.cancel()

    def _let_go(self, ended: AcknowledgmentSet, status: SetStatus) -> None:
        with self._lock:
            if ended in self._open:  # or another look was quicker
                self._open.remove(ended)
                self._ended[status] += 1

    def _all(self) -> list[AcknowledgmentSet]:
        with self._lock:
            return list(self._open)
