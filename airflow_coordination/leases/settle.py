"""Settling: a write whose answer was lost is repeated, unchanged, until the store says what became of it (promise S6).

Never concluded from one read: a cut connection's statement can still apply later. The rules are those of
``protocol.md``, *Settle*; the Kinesis Client Library does the same for renewals only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from enum import Enum
from typing import TypeVar

from airflow_coordination.leases.clock import Clock, Randomness
from airflow_coordination.leases.errors import (
    CoordinationError,
    OutcomeUnknownError,
    PartitionNotFoundError,
    PartitionNotOwnedError,
    StoreUnavailableError,
)
from airflow_coordination.leases.partition import Chain, Ending, Fence, Outcome, Partition, PartitionStatus
from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.leases.writes import Answer, ChainWrite

T = TypeVar("T")
Interruption = StoreUnavailableError | OutcomeUnknownError

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 2.0


class Verdict(Enum):
    """What one answer says about a write."""

    APPLIED = "applied"
    REPEAT = "repeat"
    REFUSED = "refused"
    GONE = "gone"
    """The store no longer remembers the tenure."""


def judge(write: ChainWrite, now: Partition | None) -> Verdict:
    """Return what a refusal means, judged by the partition that came with it (protocol.md, *Settle* 1 to 3)."""
    if now is None:
        return Verdict.GONE
    if now.held_under(write.fence):
        if now.last_op == write.op:
            return Verdict.APPLIED
        return Verdict.REPEAT if now.last_op == write.prev else Verdict.REFUSED
    ending = now.ending_of(write.fence)
    if ending is None:
        return Verdict.GONE
    return Verdict.APPLIED if write.op in (ending.op, ending.last) else Verdict.REFUSED


def not_owned(key: str, held: Fence, now: Partition) -> PartitionNotOwnedError:
    """Return the refusal of a call under ``held``, naming the current owner and how that tenure ended."""
    ending = now.ending_of(held)
    if now.held_under(held):
        ending = Ending(Outcome.OVERTAKEN, held, now.updated_at)
    assigned = now.status is PartitionStatus.ASSIGNED and not now.deleted
    return PartitionNotOwnedError(key, held, now.fence, ending, now.owner if assigned else None)


class Settler:
    """Sends writes until they are settled, within a deadline on this side.

    :param store: where they go.
    :param clock: injected time.
    :param randomness: injected chance, for jitter.
    :param request_deadline: how long one call may take with all its repetitions.
    """

    def __init__(
        self, store: PartitionStore, clock: Clock, randomness: Randomness, request_deadline: timedelta
    ) -> None:
        self._store, self._clock, self._randomness = store, clock, randomness
        self._seconds = request_deadline.total_seconds()

    def repeat(self, action: str, send: Callable[[], T], deadline: float | None = None) -> T:
        """Return what ``send`` returns, repeating it while the store cannot be heard.

        :param deadline: own monotonic time; ``request_deadline`` from now when ``None``.
        :raises StoreUnavailableError: when no attempt can have reached the store.
        :raises OutcomeUnknownError: when one may have.
        """
        return self._until_heard(action, send, deadline or self._deadline())[0]

    def settle(self, action: str, write: ChainWrite, chain: Chain) -> Answer | None:
        """Return the store's answer when ``write`` was applied, ``None`` when that was only learnt afterwards.

        Sets ``chain.last_op``, and ``chain.unsettled`` while the outcome is not known. The caller holds ``chain.lock``.

        :raises PartitionNotOwnedError: surely not applied; somebody else owns the partition, or nobody does.
        :raises PartitionNotFoundError: surely not applied; there is no such partition.
        :raises StoreUnavailableError: surely not applied; try again.
        :raises OutcomeUnknownError: not known.
        """
        deadline = min(self._deadline(), max(chain.deadline, self._clock.monotonic()))
        chain.unsettled = write
        doubtful = False
        for pause in self._pauses():
            try:
                answer, doubt = self._until_heard(action, lambda: self._store.write(write), deadline)
            except StoreUnavailableError as error:
                if doubtful:
                    raise OutcomeUnknownError(action, error.reason) from error
                chain.unsettled = None
                raise
            doubtful = doubtful or doubt
            verdict = Verdict.APPLIED if answer.applied else judge(write, answer.partition)
            if verdict is not Verdict.REPEAT:
                break
            if self._clock.monotonic() + pause > deadline:
                raise OutcomeUnknownError(action, "the store refuses it without a reason")
            self._clock.sleep(pause)
        if verdict is Verdict.GONE:
            verdict = self._ask_head_records(write)
        return self._conclude(action, write, chain, answer, verdict, doubtful)

    def _conclude(
        self, action: str, write: ChainWrite, chain: Chain, answer: Answer, verdict: Verdict, doubtful: bool
    ) -> Answer | None:
        if verdict is Verdict.GONE and doubtful:
            raise OutcomeUnknownError(action, "the store no longer remembers this tenure")
        chain.unsettled = None
        if verdict is Verdict.APPLIED:
            chain.last_op = write.op
            if answer.applied:
                return answer
            chain.ending = answer.partition.ending_of(write.fence) if answer.partition else None
            return None
        if answer.partition is None or (answer.partition.deleted and verdict is Verdict.GONE):
            raise PartitionNotFoundError(write.key, write.source)
        error = not_owned(write.key, write.fence, answer.partition)
        chain.ending = error.ending
        raise error

    def _ask_head_records(self, write: ChainWrite) -> Verdict:
        """Return APPLIED if a head record names the write: the third rule of *Settle*."""
        send = lambda: self._store.heads(write.source, key=write.key)  # noqa: E731
        heads = self.repeat("read the head records", send)
        return Verdict.APPLIED if any(head.op == write.op for head in heads) else Verdict.GONE

    def _deadline(self) -> float:
        return self._clock.monotonic() + self._seconds

    def _pauses(self) -> Iterator[float]:
        pause = FIRST_PAUSE
        while True:
            yield self._randomness.jitter(pause, 0.5)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _until_heard(self, action: str, send: Callable[[], T], deadline: float) -> tuple[T, bool]:
        """Return the answer, and whether an attempt before it was lost."""
        doubt: OutcomeUnknownError | None = None
        for pause in self._pauses():
            try:
                return send(), doubt is not None
            except (StoreUnavailableError, OutcomeUnknownError) as error:
                last: CoordinationError = error
                doubt = error if isinstance(error, OutcomeUnknownError) else doubt
            if self._clock.monotonic() + pause > deadline:
                break
            self._clock.sleep(pause)
        if doubt is not None:
            raise OutcomeUnknownError(action, doubt.reason) from doubt
        raise StoreUnavailableError(action, getattr(last, "reason", str(last))) from last
