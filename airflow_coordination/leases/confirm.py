"""Settling: a write whose answer was lost is repeated, unchanged, until the store says what became of it (promise S6).

Never concluded from one read: a cut connection's statement can still apply later. The rules are those of
``protocol.md``, *Settle*; the Kinesis Client Library does the same for renewals only.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from enum import Enum
from typing import TypeVar

from airflow_coordination.leases.lease import Chain
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.writes import Action, ChainWrite
from airflow_coordination.values.errors import (
    OutcomeUnknownError,
    PartitionNotFoundError,
    PartitionNotOwnedError,
    PartitionUpdateError,
    StoreUnavailableError,
)
from airflow_coordination.values.fence import Ending, Fence
from airflow_coordination.values.input_errors import CoordinationError, shown
from airflow_coordination.values.status import Outcome, PartitionStatus
from airflow_coordination.values.times import Clock, Randomness

T = TypeVar("T")
Unheard = Callable[[StoreUnavailableError | OutcomeUnknownError], object]
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 2.0
FORGOTTEN = "the store no longer remembers this tenure"
"""Why nobody can say any more what became of a write: its place in the ring was used again, or the item is gone."""


class Fate(Enum):
    """The fate of a write, as one answer tells it."""

    APPLIED = "applied"
    REPEAT = "repeat"
    REFUSED = "refused"
    GONE = "gone"
    """The store no longer remembers the tenure."""


def judge(write: ChainWrite, now: Partition | None) -> Fate:
    """Return what a refusal means, judged by the partition that came with it (protocol.md, *Settle* 1 to 3)."""
    if now is None:
        return Fate.GONE
    if now.held_under(write.fence):
        if now.last_op == write.op:
            return Fate.APPLIED
        return Fate.REPEAT if now.last_op == write.prev else Fate.REFUSED
    ending = now.ending_of(write.fence)
    if ending is None:
        return Fate.GONE
    return Fate.APPLIED if write.op in (ending.op, ending.last) else Fate.REFUSED


def not_owned(key: str, held: Fence, now: Partition) -> PartitionNotOwnedError:
    """Return the refusal of a call under ``held``, naming the current owner and how that tenure ended."""
    ending = now.ending_of(held)
    if now.held_under(held):
        ending = Ending(Outcome.OVERTAKEN, held, now.updated_at)
    assigned = now.status is PartitionStatus.ASSIGNED and not now.deleted
    return PartitionNotOwnedError(key, held, now.fence, ending, now.owner if assigned else None)


class Attempts:
    """One call with all its repetitions: until when it goes on, and whether an attempt may have been applied.

    :param action: what is attempted, for the errors.
    :param deadline: own monotonic time; at least one attempt is made.
    :param doubtful: an attempt of an earlier call may have been applied already.
    :param unheard: called with the error of every attempt that the store did not answer, or answered with "not now".
    """

    def __init__(
        self,
        action: str,
        deadline: float,
        clock: Clock,
        randomness: Randomness,
        *,
        doubtful: bool = False,
        unheard: Unheard = lambda error: None,
    ) -> None:
        self._action, self._deadline, self._clock, self._randomness = action, deadline, clock, randomness
        self._pause = FIRST_PAUSE
        self._unheard = unheard
        self.doubtful = doubtful

    def hear(self, send: Callable[[], T]) -> T:
        """Return what the store answers, asking again while it cannot be heard.

        :raises StoreUnavailableError: when no attempt can have reached the store.
        :raises OutcomeUnknownError: when one may have.
        :raises PartitionUpdateError: when the store cannot do it, and surely has not.
        """
        while True:
            try:
                return send()
            except (StoreUnavailableError, OutcomeUnknownError) as error:
                self._unheard(error)
                self.doubtful = self.doubtful or isinstance(error, OutcomeUnknownError)
                self.wait(error.reason, error)
            except PartitionUpdateError as error:
                if self.doubtful:
                    raise OutcomeUnknownError(self._action, str(error)) from error
                raise

    def wait(self, reason: str, cause: Exception | None = None) -> None:
        """Wait before the next attempt.

        :raises StoreUnavailableError: when the deadline comes first, and nothing can have been applied.
        :raises OutcomeUnknownError: when the deadline comes first, and something may have been.
        """
        pause = self._randomness.jitter(self._pause, 0.5)
        if self._clock.monotonic() + pause > self._deadline:
            kind = type(cause) if isinstance(cause, StoreUnavailableError) else StoreUnavailableError
            raise (OutcomeUnknownError if self.doubtful else kind)(self._action, reason) from cause
        self._clock.sleep(pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)


class Settler:
    """Sends writes until they are settled, within a deadline on this side.

    :param store: where they go.
    :param clock: injected time.
    :param randomness: injected chance, for jitter.
    :param request_deadline: how long one call may take with all its repetitions.
    :param unheard: see :class:`Attempts`.
    """

    def __init__(
        self,
        store: PartitionStore,
        clock: Clock,
        randomness: Randomness,
        request_deadline: timedelta,
        unheard: Unheard = lambda error: None,
    ) -> None:
        self._store, self._clock, self._randomness, self._unheard = store, clock, randomness, unheard
        self._seconds = request_deadline.total_seconds()

    def attempts(self, action: str, deadline: float | None = None, *, doubtful: bool = False) -> Attempts:
        """Return the attempts of one call.

        :param deadline: own monotonic time; ``request_deadline`` from now when ``None``.
        """
        until = self._deadline() if deadline is None else deadline
        return Attempts(action, until, self._clock, self._randomness, doubtful=doubtful, unheard=self._unheard)

    def repeat(self, action: str, send: Callable[[], T], deadline: float | None = None) -> T:
        """Return what ``send`` returns, repeating it while the store cannot be heard; see :meth:`Attempts.hear`."""
        return self.attempts(action, deadline).hear(send)

    def read(self, source: str, key: str) -> Partition | None:
        """Return one partition, tombstones included, asking until the store is heard."""
        return self.repeat("read a partition", lambda: self._store.get(source, key))

    def settle(
        self, action: str, write: ChainWrite, chain: Chain, send: Callable[[], Answer] | None = None
    ) -> Answer | None:
        """Return the store's answer when ``write`` was applied, ``None`` when that was only learnt afterwards.

        Sets ``chain.last_op``. While the outcome is not known, ``chain.unsettled`` holds the write: settling it
        again goes on where this call stopped. The caller holds ``chain.lock``.

        :param send: sends the write; by itself unless given.
        :raises PartitionNotOwnedError: surely not applied; somebody else owns the partition, or nobody does.
        :raises PartitionNotFoundError: surely not applied; there is no such partition, or a person has deleted it.
        :raises StoreUnavailableError: surely not applied; try again.
        :raises PartitionUpdateError: surely not applied; the store cannot do it.
        :raises OutcomeUnknownError: not known.
        """
        deadline = min(self._deadline(), max(chain.deadline, self._clock.monotonic()))
        attempts = self.attempts(action, deadline, doubtful=chain.unsettled == write)
        chain.unsettled = write
        try:
            answer, fate = self._until_judged(attempts, write, send or (lambda: self._store.write(write)))
        except (StoreUnavailableError, PartitionUpdateError):
            chain.unsettled = None
            raise
        if fate is Fate.GONE and attempts.doubtful:
            self._ask_head_records(action, write)
            fate = Fate.APPLIED
        chain.unsettled = None
        return self._conclude(write, chain, answer, fate)

    def _until_judged(self, attempts: Attempts, write: ChainWrite, send: Callable[[], Answer]) -> tuple[Answer, Fate]:
        while True:
            answer = attempts.hear(send)
            fate = Fate.APPLIED if answer.applied else judge(write, answer.partition)
            if fate is not Fate.REPEAT:
                return answer, fate
            attempts.wait("the store refuses it without a reason")

    def _conclude(self, write: ChainWrite, chain: Chain, answer: Answer, fate: Fate) -> Answer | None:
        if fate is Fate.APPLIED:
            chain.last_op = write.op
            if answer.applied:
                return answer
            chain.ending = answer.partition.ending_of(write.fence) if answer.partition else None
            return None
        if answer.partition is None or (answer.partition.deleted and fate is Fate.GONE):
            raise PartitionNotFoundError(write.key, write.source)
        raise self.refusal(write.key, write.fence, answer.partition, chain)

    def refusal(self, key: str, held: Fence, now: Partition, chain: Chain) -> CoordinationError:
        """Return why a call under ``held`` was refused: a person has deleted the partition under it, or another reason.

        :param chain: of the tenure, which learns how it ended.
        """
        error = not_owned(key, held, now)
        chain.ending = error.ending
        if not now.deleted or error.ending is None or error.ending.op != now.last_op:
            return error
        return PartitionNotFoundError(key, now.source, self._deleted_by(now))

    def _deleted_by(self, now: Partition) -> str:
        """Return who deleted a partition, and why, as far as the audit says it now."""
        with suppress(CoordinationError):
            acts = [act for act in self._store.audit(now.source, now.key) if act["action"] == Action.DELETE]
            if acts:
                return f"by {shown(acts[-1]['by'])} ({shown(acts[-1]['why'])})"
        return "by a person"

    def _ask_head_records(self, action: str, write: ChainWrite) -> None:
        """Return if a head record names the write: the third rule of *Settle*.

        :raises OutcomeUnknownError: if none does: what became of the write is no longer known.
        """
        attempts = self.attempts(action, doubtful=True)
        heads = every_head(self._store, write.source, key=write.key, hear=attempts.hear)
        if not any(head.op == write.op for head in heads):
            raise OutcomeUnknownError(action, FORGOTTEN)

    def _deadline(self) -> float:
        return self._clock.monotonic() + self._seconds
