"""SourceCoordinator: the one door to a source's partitions (Data Prepper: ``SourceCoordinator``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from airflow_coordination.leases.acquisition import after_completion
from airflow_coordination.leases.cleaning import Retention
from airflow_coordination.leases.counting import Lag, RecordMetrics
from airflow_coordination.leases.creation import Creation
from airflow_coordination.leases.follow_ups import FollowingUp
from airflow_coordination.leases.lease import (
    CloseRequest,
    CompleteRequest,
    EndRequest,
    FailRequest,
    GiveUpRequest,
    Lease,
)
from airflow_coordination.leases.supply import Supplier
from airflow_coordination.leases.workers import Members, Wanting
from airflow_coordination.protocol.follow_up import check_text
from airflow_coordination.protocol.metrics import Metric
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.writes import End
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.documents import encode_progress
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionNotOwnedError
from airflow_coordination.values.fence import Fence, details_of
from airflow_coordination.values.hints import Hint, decode_hint
from airflow_coordination.values.names import check_key
from airflow_coordination.values.status import Outcome, PartitionStatus, Rank
from airflow_coordination.values.times import duration

_COUNTED: Final = {
    Outcome.CLOSED: Metric.CLOSED,
    Outcome.COMPLETED: Metric.COMPLETED,
    Outcome.FAILED: Metric.FAILED,
}


class SourceCoordinator(Creation, Members, Wanting, Retention, FollowingUp, RecordMetrics, Lag):
    """Hands out the partitions of one source under leases.

    Thread-safe. Every call that writes as an owner takes the lease, and succeeds only under its fence
    (promise S2). Every call has a deadline on this side; a lost answer is settled (promise S6).

    :param store: from :func:`airflow_coordination.stores.open_store`.
    :param source: the source's name.
    :param owner: who acts: ``hostname/dag/run/task/map index/try`` for Airflow tasks, any text otherwise.
    :param partition_prefix: keeps deployments that share a store apart (Data Prepper: ``partition_prefix``); by
        default what the store's own configuration says, from which it must not differ.
    :param ownership_timeout: how long a lease lasts without renewal; default 10 minutes (Data Prepper).
    :param max_closed_count: this many closes complete a partition; ``None`` = no limit.
    :param max_failures: this many failures in a row park a partition.
    :param max_lost_leases: this many leases lost in a row, without an ending, park a partition; it travels with each
        lease, so that whoever sweeps judges by it.
    :param settings: all timers and limits at once; the four above replace its own where given.
    :param metrics: where the seed's metrics go; in memory by default.
    :raises InvalidInputError: naming the argument, when one cannot be used.
    """

    def get_next_partition(self, supplier: Supplier | None = None, hint: str | None = None) -> Lease | None:
        """Acquire one partition: the hint first, then crashed, reopened, new ones, then the supplier once, then again.

        Now and then (1 in 8) the order starts at "new", so that no class starves (promise S9).

        :param supplier: run when nothing can be acquired; see :meth:`run_supplier`.
        :param hint: from :meth:`claimable`, or a plain key.
        :return: the lease, or ``None`` when there is nothing to do, which is counted (``noPartitionsAcquired``), or the
            source is paused, which is not.
        :raises StoreMismatchError: when the hint was made on another store.
        """
        lease = self._acquire(hint)
        if lease is None and supplier is not None:
            self.run_supplier(supplier)
            lease = self._acquire(None)
        return self._counted(lease)

    def acquire_partition(self, key: str) -> Lease | None:
        """Acquire this partition and no other; ``None`` when it cannot be had now, which is not counted."""
        lease = self._acquisition.by_hint(self._hint(key))
        return self._counted_lease(lease) if lease else None

    def retake(self, key: str) -> Lease | None:
        """Take a partition over, at once, from an earlier try of this task; ``None`` if none holds it."""
        lease = self._acquisition.retake(check_key(key))
        return self._counted(lease) if lease else None

    def adopt(self, key: str, fence: Fence) -> Lease | None:
        """Put a running tenure of an earlier try of this task under this try's watch, and renew it.

        Its driver may go on with the chain of writes; this lease is for renewing, and for ending it once the driver
        is dead.

        :return: the lease, ``None`` if the tenure is over.
        """
        return self._acquisition.adopt(check_key(key), fence)

    def begin(self, key: str, fence: Fence) -> Lease:
        """Go on with a tenure that a task handed to this driver: the driver's first write.

        A second driver process of the same submission finds the first one out here and retakes from it.

        :raises PartitionNotOwnedError: when the tenure is over.
        """
        with self._watched(None):
            lease = self._acquisition.begin(check_key(key), fence)
        return lease if lease.fence == fence else self._counted_lease(lease)

    def describe_owner(self, **facts: str | int | None) -> None:
        """Say what people may want to know of who holds the leases that begin from now on, beside the owner's name.

        It stands with the partition while it is held, and in its history afterwards: ``application`` and ``url`` are
        shown as a link by the board. What does not fit into 512 bytes is left out, the last first.

        :param facts: short texts and numbers by name, the most useful first.
        """
        self._acquisition.owner_details = details_of(facts)

    def held_by_task(self) -> Sequence[Partition]:
        """Return what any try of this owner's Airflow task holds, not of its namesake in another Airflow."""
        action, task = "look for own leases", self.owner.task
        found = self._settler.repeat(action, lambda: self.store.find_task(self._source_id, task))
        return [each for each in found if self.owner.is_also(each.owner)]

    def save_progress_state(
        self, lease: Lease, state: object, blocks: Sequence[Block] = (), counted: Accounting | None = None
    ) -> Lease:
        """Save progress and the blocks finished since the last save; also renews (Data Prepper: ``saveState``).

        :param state: any JSON value but ``None``: at most 256 KiB and 32 levels, string keys, no NaN.
        :param counted: what became of the records in this tenure so far, all saves before included; added to the
            totals of the tenures before in the same step. ``None`` when none were delivered.
        :raises ProgressStateError: when the state is none of these; the last good one stays.
        :raises InvalidInputError: when the accounting does not balance; nothing is saved.
        """
        with self._watched(Metric.SAVE_ERRORS):
            saved = self._tenures.save(lease, state, blocks, counted)
        self._count_records(lease, counted)
        return saved

    def complete(
        self,
        lease: Lease,
        blocks: Sequence[Block] = (),
        counted: Accounting | None = None,
        then: str | None = None,
    ) -> None:
        """End the tenure: the partition is COMPLETED, and all saved and given blocks are published in the same step.

        :param counted: as for :meth:`save_progress_state`.
        :param then: a note of what follows at the source, kept by the same step until :meth:`clear_follow_up`: JSON of
            at most 4 KiB.
        :raises InvalidInputError: when the note is longer; nothing is ended.
        """
        with self._watched(Metric.COMPLETE_ERRORS):
            self._end(lease, CompleteRequest(counted, self._noted(then)), blocks)

    def close(
        self,
        lease: Lease,
        reopen_after: timedelta | datetime,
        state: object = None,
        blocks: Sequence[Block] = (),
        counted: Accounting | None = None,
        then: str | None = None,
    ) -> None:
        """End the tenure: the partition is CLOSED until ``reopen_after`` from now, COMPLETED at ``max_closed_count``.

        :param reopen_after: a duration, or a moment by the store's clock; a store that knows its time only so exactly
            (DynamoDB: 2 s) waits that much longer, also for a duration of 0.
        :param state: progress for the next pass; ``None`` starts it afresh, as in Data Prepper.
        :param counted: as for :meth:`save_progress_state`.
        :param then: as for :meth:`complete`.
        """
        with self._watched(Metric.CLOSE_ERRORS):
            after = duration("reopen_after", reopen_after, self.store.now) or timedelta(0)
            progress = encode_progress(state)
            self._end(lease, CloseRequest(reopen_after, progress, after, counted, self._noted(then)), blocks)

    def fail(self, lease: Lease, error: str, retry_after: timedelta | datetime | None = None) -> None:
        """End the tenure as failed: wait, count, and park at the maximum; progress and saved blocks are kept.

        :param error: kept as the partition's last error, 2,000 characters at most.
        :param retry_after: the wait; by default doubling from 30 s to 1 h.
        """
        with self._watched(None):
            after = duration("retry_after", retry_after, self.store.now)
            self._end(lease, FailRequest(error, retry_after, after))

    def give_up(self, lease: Lease, retry_after: timedelta | datetime | None = None) -> None:
        """End the tenure without counting anything; the partition is free at once, or after ``retry_after``."""
        with self._watched(None):
            after = duration("retry_after", retry_after, self.store.now)
            self._end(lease, GiveUpRequest(retry_after, after))

    def complete_and_get_next(
        self,
        lease: Lease,
        blocks: Sequence[Block] = (),
        hint: str | None = None,
        counted: Accounting | None = None,
        then: str | None = None,
    ) -> Lease | None:
        """Complete and acquire the next partition, in one commit where the store can (SQL).

        :param counted: as for :meth:`save_progress_state`.
        :param then: as for :meth:`complete`.
        :return: the next lease, or ``None`` when there is nothing more to do, which is counted.
        :raises OutcomeUnknownError: also when the partition is completed, and only the next one could not be had; the
            message says so.
        """
        wanted = self._hint(hint).key if hint is not None else None
        if not self.store.has_fused_step:
            self.complete(lease, blocks, counted, then)
            with after_completion():
                return self._counted(self._acquire(hint))
        following = self._complete_and_acquire(lease, CompleteRequest(counted, self._noted(then)), blocks, wanted)
        if following is None and hint is not None:
            with after_completion():
                following = self._acquire(None)
        return self._counted(following)

    def fail_for_dead_owner(self, key: str, fence: Fence, error: str) -> bool:
        """End a tenure as failed in the place of its driver, which is known to be dead.

        :return: whether the tenure was still going on; false when it had ended by itself.
        :raises PartitionNotFoundError: when there is no such partition.
        """
        return self._end_for_dead_owner(key, fence, FailRequest(error))

    def give_up_for_dead_owner(self, key: str, fence: Fence) -> bool:
        """Give a tenure up in the place of its driver, which was ended on purpose; see :meth:`fail_for_dead_owner`."""
        return self._end_for_dead_owner(key, fence, GiveUpRequest())

    def _end_for_dead_owner(self, key: str, fence: Fence, request: EndRequest) -> bool:
        while True:
            seen = self._settler.read(self._source_id, key)
            if seen is None:
                raise PartitionNotFoundError(key, self.source)
            if not seen.held_under(fence):
                return False
            lease = self._tenures.start(seen, self._clock.monotonic())
            try:
                self._end(lease, request)
            except PartitionNotOwnedError as refused:
                if refused.ending is None or refused.ending.outcome is not Outcome.OVERTAKEN:
                    return False
            except PartitionNotFoundError:  # a person has deleted it under its owner
                return False
            else:
                return True

    def _noted(self, then: str | None) -> str | None:
        """Return the note of an ending, if the store keeps it."""
        if then is not None:
            self.check_follow_ups()
        return check_text(then)

    def _hint(self, text: str) -> Hint:
        return decode_hint(text, self.store.store_id)

    def _acquire(self, hint: str | None) -> Lease | None:
        lease = self._acquisition.by_hint(self._hint(hint)) if hint is not None else None
        return lease or self._acquisition.by_query()

    def _counted(self, lease: Lease | None) -> Lease | None:
        if lease is not None:
            return self._counted_lease(lease)
        if not self._holds_back():
            self._count(Metric.NONE_ACQUIRED)
        return None

    def _counted_lease(self, lease: Lease) -> Lease:
        self._count(Metric.ACQUIRED)
        before = lease.partition.ending_at(lease.fence.token - 1)
        if before is not None and before.op == lease.fence.nonce:
            self._count(Metric.LOST, before.outcome is Outcome.LOST)
        elif before is not None and before.status_after is PartitionStatus.CLOSED:
            # What a sweep has reopened was counted there, and has its rank.
            self._count(Metric.REOPENED, lease.partition.rank is Rank.NEW and before.outcome is Outcome.CLOSED)
        return lease

    def _end(
        self,
        lease: Lease,
        request: EndRequest,
        blocks: Sequence[Block] = (),
        send: Callable[[End], Answer] | None = None,
    ) -> bool:
        """End a tenure and count it; return whether the store's answer was heard."""
        write, heard = self._tenures.end(lease, request, blocks, send=send)
        self._count_records(lease, getattr(request, "counted", None))
        if write.outcome in _COUNTED:
            self._count(_COUNTED[write.outcome])
        self._count(Metric.PARKED, write.status is PartitionStatus.CLOSED and write.delay is None)
        self._count(Metric.CHILDREN_RELEASED, lease.chain.released)
        if write.outcome is Outcome.FAILED:
            self._brake()
        return heard

    def _complete_and_acquire(
        self, lease: Lease, request: CompleteRequest, blocks: Sequence[Block], key: str | None
    ) -> Lease | None:
        fused = self._acquisition.fused(key)
        with self._watched(Metric.COMPLETE_ERRORS), fused:
            heard = self._end(lease, request, blocks, fused.send)
        with after_completion():
            return fused.acquired(heard)
