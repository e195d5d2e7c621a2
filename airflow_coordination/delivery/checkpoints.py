"""Positions of a stream in their order, and up to which of them it is safe to save progress.

Data Prepper: ``ShardAcknowledgementManager``, ``StreamAcknowledgementManager``.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from airflow_coordination.delivery.acknowledgment_set import seconds
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.times import Clock, SystemClock

Position = TypeVar("Position")


@dataclass(slots=True)
class _Batch(Generic[Position]):
    number: int
    position: Position
    deadline: float
    positive: bool | None = None


@dataclass(frozen=True, slots=True)
class Stopped(Generic[Position]):
    """The stop of a stream: no later position becomes safe; save the last safe one, and give the partition up.

    :param position: the first position that was not acknowledged.
    :param reason: ``"negative"`` or ``"overdue"``.
    """

    position: Position
    reason: str


class OrderedCheckpoints(Generic[Position]):
    """Batches are acknowledged in any order; the positives up to the first gap are safe to save.

    The first negative or overdue batch stops it for good: what is acknowledged later counts no more, because the next
    owner starts from the last safe position, and delivers all of it again.

    :param timeout: how long each batch may wait for its acknowledgment.
    :param clock: the time.
    :raises InvalidInputError: for a timeout that is not a positive duration.
    """

    def __init__(self, timeout: timedelta, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._timeout = seconds("timeout", timeout)
        self._batches: deque[_Batch[Position]] = deque()
        self._numbers = 0
        self._safe: Position | None = None
        self._stopped: Stopped[Position] | None = None
        self._final = False
        self._lock = threading.Lock()

    def add(self, position: Position) -> int:
        """Add the batch that ends at ``position``, behind all others, and return its number.

        :raises InvalidInputError: after :meth:`finish`.
        """
        with self._lock:
            if self._final:
                raise InvalidInputError("position", position, "comes after finish()", "Finish after the last batch")
            self._numbers += 1
            self._batches.append(_Batch(self._numbers, position, self._clock.monotonic() + self._timeout))
            return self._numbers

    def acknowledge(self, number: int, positive: bool) -> bool:
        """Note the acknowledgment of a batch.

        :param number: as :meth:`add` returned it.
        :return: whether it counts; false for a second one, a late one, or an unknown number.
        """
        with self._lock:
            self._advance()
            batch = next((each for each in self._batches if each.number == number), None)
            if self._stopped or batch is None or batch.positive is not None or self._overdue(batch):
                return False
            batch.positive = bool(positive)
            self._advance()
            return True

    def finish(self) -> None:
        """Say that no batch follows: the partition is at its end."""
        with self._lock:
            self._final = True

    @property
    def safe(self) -> Position | None:
        """The position up to which every batch is positive; ``None`` before the first."""
        with self._lock:
            self._advance()
            return self._safe

    @property
    def stopped(self) -> Stopped[Position] | None:
        """The first batch that was negative or overdue, ``None`` while there is none."""
        with self._lock:
            self._advance()
            return self._stopped

    @property
    def done(self) -> bool:
        """Whether the partition is at its end, and every batch of it positive: it may be completed."""
        with self._lock:
            self._advance()
            return self._final and not self._batches and self._stopped is None

    def _advance(self) -> None:
        """Move over the positives at the front, and stop at what will not become one."""
        while self._stopped is None and self._batches:
            first = self._batches[0]
            if first.positive:
                self._safe = self._batches.popleft().position
            elif first.positive is False or self._overdue(first):
                reason = "overdue" if first.positive is None else "negative"
                self._stopped = Stopped(first.position, reason)
            else:
                return

    def _overdue(self, batch: _Batch[Position]) -> bool:
        return batch.positive is None and self._clock.monotonic() >= batch.deadline
