"""Starting tenures: by hint, by the order, by key; retaking and adopting one's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from airflow_coordination.leases.confirm import Settler, not_owned
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.outcomes import GiveUpRequest
from airflow_coordination.leases.tenures import Tenures
from airflow_coordination.protocol.beside.parts import FusedSteps
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.writes import (
    AcquireHinted,
    AcquireNext,
    Adopt,
    End,
    KnownAcquisition,
    Retake,
    Steal,
    Tenancy,
)
from airflow_coordination.values.errors import OutcomeUnknownError, PartitionNotFoundError, PartitionNotOwnedError
from airflow_coordination.values.fence import Fence, Owner
from airflow_coordination.values.hints import Hint
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.settings import NEW_FIRST_PROBABILITY, Settings
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Clock, Randomness


@dataclass(frozen=True, slots=True)
class _Phantom:
    """An acquisition whose answer was lost and that was not found: it may still be applied."""

    nonce: str
    until: float


class Acquisition:
    """Acquires partitions of one source for one owner.

    :param source: the stored source identifier.
    :param owner: who will hold the leases.
    :param fused: where the store can complete and acquire in one commit.
    """

    def __init__(
        self,
        store: PartitionStore,
        source: str,
        owner: Owner,
        settings: Settings,
        settler: Settler,
        tenures: Tenures,
        clock: Clock,
        randomness: Randomness,
        fused: FusedSteps | None = None,
    ) -> None:
        self._store, self._source, self._owner, self._settings, self._fused = store, source, owner, settings, fused
        self._settler, self._tenures, self._clock, self._randomness = settler, tenures, clock, randomness
        self.owner_details: str | None = None
        """What the owner says of itself in every tenure that begins from now on."""
        self._phantoms: list[_Phantom] = []

    def tenancy(self) -> Tenancy:
        """Return the start of a new tenure, under a nonce never used before."""
        return Tenancy(
            op=self._randomness.op_id(),
            owner=self._owner,
            timeout=self._settings.lease_time,
            max_lost_leases=self._settings.max_lost_leases,
            max_failures=self._settings.max_failures,
            owner_details=self.owner_details,
        )

    def following(self, key: str | None = None, *, may_miss: bool = False) -> AcquireNext:
        """Return the request for whatever is first in the order, now and then starting at "new" (promise S9).

        :param may_miss: another request is sent if this one says that it has not looked everywhere.
        """
        new_first = key is None and self._randomness.chance(NEW_FIRST_PROBABILITY)
        return AcquireNext(source=self._source, tenancy=self.tenancy(), new_first=new_first, key=key, may_miss=may_miss)

    def by_hint(self, hint: Hint) -> Lease | None:
        """Acquire the hinted partition if it can be had: one step. ``None`` when it cannot."""
        if hint.token is None:
            return self.by_query(hint.key)
        write = AcquireHinted(source=self._source, key=hint.key, token=hint.token, tenancy=self.tenancy())
        return self._acquire_known(f"acquire {hint.key!r}", write)

    def by_query(self, key: str | None = None) -> Lease | None:
        """Acquire what is first in the order, or ``key`` whatever its token; ``None`` when nothing can be had.

        Never repeated under one nonce: after a lost answer the own nonce is looked for, and otherwise a new
        one is used; what turns up later is given back.
        """
        self.give_back_phantoms()
        sent_at, found = self._settler.repeat("acquire a partition", lambda: self._query(key))
        if found is None and self._phantoms:  # what a lost answer has taken may be all there was
            self.give_back_phantoms()
            sent_at, found = self._settler.repeat("acquire a partition", lambda: self._query(key))
        return self.start(found, sent_at)

    def _query(self, key: str | None) -> tuple[float, Partition | None]:
        write = self.following(key)
        sent_at = self._clock.monotonic()
        try:
            return sent_at, self._store.acquire_next(write)
        except OutcomeUnknownError as error:
            return sent_at, self._find_or_abandon(write.tenancy.op, error)

    def _find_or_abandon(self, nonce: str, error: OutcomeUnknownError) -> Partition:
        """Return what was acquired under ``nonce``; if it is not found, it may still be applied: raise ``error``."""
        try:
            found = self._find(nonce)
        except CoordinationError as silence:
            self.abandon(nonce)
            raise error from silence
        if found is None:
            self.abandon(nonce)
            raise error
        return found

    def look_for(self, nonce: str) -> Partition | None:
        """Return the partition that was acquired under ``nonce`` and has seen no owner write yet."""
        return self._settler.repeat("look for an acquisition", lambda: self._find(nonce))

    def _find(self, nonce: str) -> Partition | None:
        found = self._store.find_nonce(self._source, nonce)
        return found if found and found.last_op == nonce else None

    def abandon(self, nonce: str) -> None:
        """Remember an acquisition that may still be applied; it is given back when it is found."""
        until = self._clock.monotonic() + self._settings.request_deadline.total_seconds()  # the server's own, too
        self._phantoms.append(_Phantom(nonce, until))

    def give_back_phantoms(self) -> None:
        """Give back what acquisitions with lost answers turn out to have taken; their leases would end anyway."""
        for phantom in list(self._phantoms):
            try:
                gone = self._give_back(phantom)
            except CoordinationError:
                return  # the store is silent; the call after this one says so
            if gone or self._clock.monotonic() >= phantom.until:
                with suppress(ValueError):  # another thread was faster
                    self._phantoms.remove(phantom)

    def _give_back(self, phantom: _Phantom) -> bool:
        """Give back what the phantom has taken; return whether it can take nothing any more."""
        found = self._find(phantom.nonce)
        if found is None:
            return False
        lease = self._tenures.start(found, self._clock.monotonic())
        with suppress(PartitionNotOwnedError, PartitionNotFoundError):
            self._tenures.end(lease, GiveUpRequest())
        return True

    def retake(self, key: str, *, same_try: bool = False) -> Lease | None:
        """Take the partition over from an earlier try of the same task, at once; ``None`` if it is not held by one.

        :raises PartitionNotFoundError: when there is no such partition.
        """
        seen = self._settler.read(self._source, key)
        if seen is None or seen.deleted:
            raise PartitionNotFoundError(key, self._source)
        return self._retake(seen, same_try)

    def _retake(self, seen: Partition, same_try: bool) -> Lease | None:
        if seen.status is not PartitionStatus.ASSIGNED or not self._owner.is_also(seen.owner):
            return None
        write = Retake(
            source=self._source,
            key=seen.key,
            token=seen.token,
            last_op=seen.last_op,
            tenancy=self.tenancy(),
            same_try=same_try,
        )
        return self._acquire_known(f"retake {seen.key!r}", write)

    def steal(self, seen: Partition, fence: Fence) -> Lease | None:
        """Take a lease that this owner has asked for and that was not handed over in time; ``None`` if it cannot.

        :param seen: the partition, as the tenure under ``fence`` held it.
        """
        write = Steal(source=self._source, key=seen.key, fence=fence, tenancy=self.tenancy())
        lease = self._acquire_known(f"steal {seen.key!r}", write)
        if lease is None:  # a copy of it that is under way may come when its time has come
            self.abandon(write.tenancy.op)
        return lease

    def adopt(self, key: str, fence: Fence) -> Lease | None:
        """Put a running tenure of an earlier try of the same task under this try's watch, and renew it.

        :return: the lease, ``None`` if the tenure is over.
        """
        sent_at = self._clock.monotonic()
        write = Adopt(source=self._source, key=key, fence=fence, owner=self._owner)
        self._settler.repeat(f"adopt {key!r}", lambda: self._store.write(write))
        now = self._settler.read(self._source, key)
        if now is None or not now.held_under(fence) or now.owner != self._owner.text:
            return None
        try:
            return self._tenures.renew(self._tenures.start(now, sent_at))
        except (PartitionNotOwnedError, PartitionNotFoundError):
            return None

    def begin(self, key: str, fence: Fence) -> Lease:
        """Go on with a tenure that a task handed over. If another driver process was first, retake from it.

        :raises PartitionNotOwnedError: when the tenure has ended, or cannot be retaken.
        """
        try:
            return self._tenures.begin(self._source, key, fence, self.owner_details)
        except PartitionNotOwnedError as error:
            seen = self._settler.read(self._source, key)
            lease = self._retake(seen, same_try=True) if seen is not None and seen.held_under(fence) else None
            if lease is None:
                raise error if seen is None else not_owned(key, fence, seen) from error
            return lease

    def fused(self, key: str | None) -> FusedAcquisition | None:
        """Return the acquisition of the next partition in the step that completes one; of ``key`` if given.

        :return: ``None`` where the store has no such step.
        """
        if self._fused is None:
            return None
        request = self.following(key, may_miss=key is None)
        return FusedAcquisition(self, self._fused, request, self._clock.monotonic())

    def start(self, found: Partition | None, sent_at: float) -> Lease | None:
        """Return the lease on what was acquired by a request sent at ``sent_at``."""
        return self._tenures.start(found, sent_at) if found else None

    def _acquire_known(self, action: str, write: KnownAcquisition) -> Lease | None:
        nonce = write.tenancy.op

        def send() -> tuple[float, Answer]:
            return self._clock.monotonic(), self._store.acquire(write)

        try:
            sent_at, answer = self._settler.repeat(action, send)
        except OutcomeUnknownError:
            self.abandon(nonce)
            raise
        now = answer.partition
        mine = now is not None and now.held_under(Fence(now.token, nonce)) and now.last_op == nonce
        return self._tenures.start(now, sent_at) if now is not None and (answer.applied or mine) else None


@contextmanager
def after_completion() -> Iterator[None]:
    """Say with every error of an acquisition that the partition before it is completed.

    :raises OutcomeUnknownError: in the place of errors that say that nothing was written.
    """
    try:
        yield
    except CoordinationError as error:
        action = "the next acquisition (the partition before is completed)"
        raise OutcomeUnknownError(action, getattr(error, "reason", str(error))) from error


class FusedAcquisition:
    """The second half of "complete and acquire next": what it acquired, also when the answer was lost.

    Once the completion is visible, what its step has not acquired then is never acquired by it later.
    """

    def __init__(self, acquisition: Acquisition, fused: FusedSteps, request: AcquireNext, sent_at: float) -> None:
        self._acquisition, self._fused, self._request, self._sent_at = acquisition, fused, request, sent_at
        self._found: Partition | None = None
        self._may_have_missed = True
        self._sent = False

    def send(self, end: End) -> Answer:
        """Send both halves; return the answer to the first."""
        self._sent = True
        answer = self._fused.complete_and_acquire(end, self._request)
        self._found = answer.next
        if answer.ended.applied:  # a refusal says nothing of what the attempt that was applied has found
            self._may_have_missed = answer.missed
        return answer.ended

    def acquired(self, heard: bool) -> Lease | None:
        """Return the next lease.

        :param heard: whether the answer to this step was heard; otherwise the store is asked.
        """
        nonce = self._request.tenancy.op
        if not self._sent:  # an earlier call had completed already
            return self._acquisition.by_query(self._request.key)
        try:
            found = self._found if heard else self._acquisition.look_for(nonce)
        except CoordinationError:
            self._acquisition.abandon(nonce)
            raise
        if found is None and self._may_have_missed:  # under a nonce of its own: this one acquires nothing any more
            return self._acquisition.by_query(self._request.key)
        return self._acquisition.start(found, self._sent_at)

    def __enter__(self) -> FusedAcquisition:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, OutcomeUnknownError) and self._sent:
            self._acquisition.abandon(self._request.tenancy.op)
