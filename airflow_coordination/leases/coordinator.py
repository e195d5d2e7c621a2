"""SourceCoordinator: the one door to a source's partitions (Data Prepper: ``SourceCoordinator``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from airflow_coordination.leases.acquisition import after_completion
from airflow_coordination.leases.cleaning import Cleaning
from airflow_coordination.leases.counting import Counting
from airflow_coordination.leases.creation import Supplying, View
from airflow_coordination.leases.follow_ups import FollowUps
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.looking import Looking
from airflow_coordination.leases.moving import Moving
from airflow_coordination.leases.outcomes import CloseRequest, CompleteRequest, EndRequest, FailRequest, GiveUpRequest
from airflow_coordination.leases.participant import Participant
from airflow_coordination.leases.people import Pausing, People
from airflow_coordination.leases.supply import Supplier, SupplierRun
from airflow_coordination.leases.tries import Tries
from airflow_coordination.leases.viewing.documents import SourceDocuments
from airflow_coordination.leases.workers import Workers
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.metrics import Metric, Metrics
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Answer, Created, Swept
from airflow_coordination.protocol.writes import End, Sweep
from airflow_coordination.values.accounting import Accounting, AddedUp
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.documents import encode_progress
from airflow_coordination.values.fence import Fence, details_of
from airflow_coordination.values.hints import Hint, decode_hint
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.names import check_key, check_limit
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.status import Outcome, PartitionStatus
from airflow_coordination.values.times import Clock, Randomness, duration, positive

if TYPE_CHECKING:
    from airflow_coordination.leases.explaining.explanation import Explanation

_SETTINGS: Final = Settings()
_COUNTED: Final = {each: Metric[each.name] for each in (Outcome.CLOSED, Outcome.COMPLETED, Outcome.FAILED)}


class SourceCoordinator:
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
    :param max_lost_leases: this many leases lost in a row park a partition; it travels with each, for whoever sweeps.
    :param settings: all timers and limits at once; the four above replace its own where given.
    :param metrics: where the seed's metrics go; in memory by default.
    :raises InvalidInputError: naming the argument, when one cannot be used.

    What workers, suppliers and readers call are its own methods; the rest lies in parts: ``coordinator.people.reopen``.
    """

    def __init__(
        self,
        store: PartitionStore,
        source: str,
        owner: str,
        partition_prefix: str | None = None,
        ownership_timeout: timedelta | None = None,
        max_closed_count: int | None = None,
        max_failures: int | None = None,
        max_lost_leases: int | None = None,
        *,
        settings: Settings | None = None,
        metrics: Metrics | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        given = {
            "ownership_timeout": ownership_timeout,
            "max_closed_count": max_closed_count,
            "max_failures": max_failures,
            "max_lost_leases": max_lost_leases,
        }
        named = {name: value for name, value in given.items() if value is not None}
        settings = dataclasses.replace(settings or _SETTINGS, **named)  # type: ignore[arg-type]
        self._core = core = Participant(store, source, owner, partition_prefix, settings, metrics, clock, randomness)
        self.store, self.source, self.partition_prefix = core.store, core.source, core.partition_prefix
        self.owner, self.settings, self.metrics = core.owner, core.settings, core.metrics
        has = parts_of(store)
        self._acquisition = core.acquirer(core.source_id, has.fused)
        self.counting: Final = Counting(core)
        """What callers have counted for them."""
        self.documents: Final = SourceDocuments(core, has.documents)
        """What people say of the source: its view, its rules."""
        self.people: Final = People(core, has.follow_ups, has.head_intervals, self.documents)
        """What people do to partitions."""
        self.branches: Final = core.branches
        """What the branches of the source allow."""
        self.pausing: Final = Pausing(core, has.pauses)
        """Holding the whole source back, and letting it go on."""
        self.looking: Final = Looking(core, has)
        """What can be seen of the source."""
        self.cleaning: Final = Cleaning(core, self.people)
        """Removing what nobody needs any more."""
        self.supplying: Final = Supplying(
            core, self.cleaning, self.heartbeat, View(core, self.looking, self.people, self.counting)
        )
        """What the supplier remembers, and what the store's registry knows."""
        self.workers: Final = Workers(core, self._acquisition)
        """Who works on the source, and how they get leases of each other."""
        self.tries: Final = Tries(core, self._acquisition, self.counting, self._end)
        """What one try of a task does about the tenures of another one."""
        self.follow_ups: Final = FollowUps(core, has.follow_ups)
        """What is still to be done after endings and parkings."""
        self.moving: Final = Moving(core, self.looking, self.pausing, self.people, self._sweep)
        """Moving the source to another store."""

    @property
    def refusals(self) -> int:
        """How many calls of this coordinator were refused because their fence was no longer the current one (exact)."""
        return self._core.refused.counts.get("refused", 0)

    def create_partitions(self, partitions: Iterable[object], *, branch: int | None = None) -> Created:
        """Create the partitions that do not exist, in this order; the others stay as they are.

        Parents go before their children: a parent has to be there already, or stand in the same page. Those that have
        completed need not be waited for; a child that exists stays as it is, even where its parents are gone.

        :param partitions: keys or identifiers; read in pages, so a generator may yield millions.
        :param branch: that the new ones run in; it has begun, and does not show yet.
        :return: how many were created and existed, and whose payload differs from the stored one.
        :raises InvalidInputError: for a key, payload or priority that cannot be stored; pages before it are created.
        :raises UnknownParentError: when a parent does not exist; it names both.
        :raises ParentCycleError: when partitions of a page could never start; nothing of that page is created.
        """
        return self.supplying.create(partitions, branch)

    def run_supplier(self, supplier: Supplier, clean_after: timedelta | None = None) -> SupplierRun:
        """Run the supplier under the source's global-state lease; on one node at a time.

        A supplier's exception propagates; its lease is given back, and partitions created so far stay. A later try of
        the Airflow task that died while it ran the supplier takes the lease over at once.

        :param supplier: called with the global state (a dict). It changes it and returns identifiers, or is a
            generator that yields identifiers and :class:`Checkpoint`.
        :param clean_after: when the supplier is done, remove parents that have finished so long ago and that it has not
            named again, under the same lease; see :meth:`.Cleaning.clean_up`. ``None`` = never.
        :return: what was created; ``ran`` is false while a rival holds the source's lease, alive or dead.
        :raises InvalidInputError: before anything is written: no function of the state, or a source with ``~`` first.
        :raises PartitionNotOwnedError: when the supplier's lease was lost meanwhile; its state was not saved.
        """
        return self.supplying.run(supplier, clean_after)

    def get_next_partition(self, supplier: Supplier | None = None, hint: str | None = None) -> Lease | None:
        """Acquire one partition: the hint first, then crashed, reopened, new ones, then the supplier once, then again.

        Now and then (1 in 8) the order starts at "new", so that no class starves (promise S9).

        :param supplier: run when nothing can be acquired; see :meth:`run_supplier`.
        :param hint: from :meth:`claimable`, or a plain key.
        :return: ``None`` when there is nothing to do, which is counted (``noPartitionsAcquired``), or it is paused.
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
        return self.counting.count_acquired(lease) if lease else None

    def begin(self, key: str, fence: Fence) -> Lease:
        """Go on with a tenure that a task handed to this driver: the driver's first write.

        A second driver process of the same submission finds the first one out here and retakes from it.

        :raises PartitionNotOwnedError: when the tenure is over.
        """
        with self._core.watched(None):
            lease = self._acquisition.begin(check_key(key), fence)
        return lease if lease.fence == fence else self.counting.count_acquired(lease)

    def describe_owner(self, **facts: str | int | None) -> None:
        """Say what people may want to know of who holds the leases that begin from now on, beside the owner's name.

        It stands with the partition while it is held, and in its history: the board links ``application`` to ``url``.
        How long its leases last, and how often it renews them, is said with it: who misses three renewals is silent.

        :param facts: short texts and numbers by name, the most useful first; what exceeds 512 bytes is left out.
        """
        self._acquisition.owner_details = details_of({**facts, **self.settings.renewing})

    def renew(self, lease: Lease) -> Lease:
        """Hold the lease for another ownership timeout from now.

        :raises PartitionNotOwnedError: when it is over: stop the work.
        """
        with self._core.watched(None):
            return self._core.tenures.renew(lease)

    def heartbeat(
        self,
        lease: Lease,
        on_lost: Callable[[CoordinationError], object] = lambda error: None,
        progress: Callable[[], object] | None = None,
    ) -> Heartbeat:
        """Return a context manager that keeps ``lease`` alive in a thread of its own; see :class:`Heartbeat`."""
        return Heartbeat(self.renew, lease, on_lost, self.settings, progress, self._core.clock, self._core.randomness)

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
        with self._core.watched(Metric.SAVE_ERRORS):
            saved = self._core.tenures.save(lease, state, blocks, counted)
        self.counting.count_records(lease, counted)
        return saved

    def on_parked(self, lease: Lease, note: str | None) -> None:
        """Say what is to follow at the source when this partition is parked: failed for good, lost, or by a person.

        It is stored with the partition, in the place of what was said before, and holds until somebody has done it, or
        the partition begins afresh (a close without state, a reset). A parked partition is the note itself.

        :param note: JSON of at most 4 KiB; ``None`` takes back what was said.
        :raises InvalidInputError: when the note is longer.
        :raises SettingsError: when the store comes from elsewhere and would lose it.
        :raises PartitionNotOwnedError: when the lease was lost: stop.
        """
        text = self.follow_ups.noted_parking(note)
        with self._core.watched(None):
            self._core.tenures.on_parked(lease, text)

    def complete(
        self,
        lease: Lease,
        blocks: Sequence[Block] = (),
        counted: Accounting | None = None,
        then: str | None = None,
        interval: str | Interval | None = None,
        empty: Sequence[str] = (),
    ) -> None:
        """End the tenure: the partition is COMPLETED, and all saved and given blocks are published in the same step.

        :param counted: as for :meth:`save_progress_state`.
        :param then: a note of what follows at the source, kept by the same step until
            :meth:`.FollowUps.clear_follow_up`: JSON of at most 4 KiB.
        :param interval: of which time the published rows are; as for :class:`.Complete`.
        :param empty: datasets of which it has nothing from now on, without a block that says so.
        :raises InvalidInputError: when the note is longer, or the interval is none; nothing is ended.
        :raises BranchError: when a branch does not allow it; nothing is ended: fail it with ``park=True``.
        """
        with self._core.watched(Metric.COMPLETE_ERRORS):
            note = None if then is None else self.follow_ups.noted(then)
            self._end(lease, CompleteRequest(tuple(empty), counted=counted, then=note, interval=interval), blocks)

    def close(
        self,
        lease: Lease,
        reopen_after: timedelta | datetime,
        state: object = None,
        blocks: Sequence[Block] = (),
        counted: Accounting | None = None,
        then: str | None = None,
        interval: str | Interval | None = None,
    ) -> None:
        """End the tenure: the partition is CLOSED until ``reopen_after`` from now, COMPLETED at ``max_closed_count``.

        :param reopen_after: a duration, or a moment by the store's clock; a store that knows its time only so exactly
            (DynamoDB: 2 s) waits that much longer, also for a duration of 0.
        :param state: progress for the next pass; ``None`` starts it afresh, as in Data Prepper.
        :param counted: as for :meth:`save_progress_state`.
        :param then: as for :meth:`complete`; so is ``interval``.
        """
        with self._core.watched(Metric.CLOSE_ERRORS):
            after = duration("reopen_after", reopen_after, self.store.now) or timedelta(0)
            progress, note = encode_progress(state), None if then is None else self.follow_ups.noted(then)
            wish = CloseRequest(progress, asked=reopen_after, wait=after, counted=counted, then=note, interval=interval)
            self._end(lease, wish, blocks)

    def fail(
        self, lease: Lease, error: str, retry_after: timedelta | datetime | None = None, *, park: bool = False
    ) -> None:
        """End the tenure as failed: wait, count, and park at the maximum; progress and saved blocks are kept.

        :param error: kept as the partition's last error, 2,000 characters at most.
        :param retry_after: the wait; by default doubling from 30 s to 1 h.
        :param park: at once: another try would fare no better (:class:`BranchError`).
        """
        with self._core.watched(None):
            after = duration("retry_after", retry_after, self.store.now)
            self._end(lease, FailRequest(error, park, asked=retry_after, wait=after))

    def give_up(self, lease: Lease, retry_after: timedelta | datetime | None = None) -> None:
        """End the tenure without counting anything; the partition is free at once, or after ``retry_after``."""
        with self._core.watched(None):
            after = duration("retry_after", retry_after, self.store.now)
            self._end(lease, GiveUpRequest(asked=retry_after, wait=after))

    def complete_and_get_next(
        self,
        lease: Lease,
        blocks: Sequence[Block] = (),
        hint: str | None = None,
        counted: Accounting | None = None,
        then: str | None = None,
        interval: str | Interval | None = None,
    ) -> Lease | None:
        """Complete and acquire the next partition, in one commit where the store can (SQL).

        :param counted: as for :meth:`save_progress_state`.
        :param then: as for :meth:`complete`; so is ``interval``.
        :return: the next lease, or ``None`` when there is nothing more to do, which is counted.
        :raises OutcomeUnknownError: also when the partition is completed, and only the next one could not be had; the
            message says so.
        """
        fused = self._acquisition.fused(self._hint(hint).key if hint is not None else None)
        if fused is None:
            self.complete(lease, blocks, counted, then, interval)
            with after_completion():
                return self._counted(self._acquire(hint))
        note = None if then is None else self.follow_ups.noted(then)
        request = CompleteRequest(counted=counted, then=note, interval=interval)
        with self._core.watched(Metric.COMPLETE_ERRORS), fused:
            heard = self._end(lease, request, blocks, fused.send)
        with after_completion():
            following = fused.acquired(heard) or (self._acquire(None) if hint is not None else None)
        return self._counted(following)

    def sweep(self, limit: int = 1000, retention: timedelta | None = None) -> Swept:
        """Reopen CLOSED partitions whose time has come and reclaim expired leases, at most ``limit`` of each.

        :param retention: forget, too, what was completed longer ago than this, a portion of the source with each call;
            see :meth:`.Cleaning.purge`. Only for sources whose supplier does not name old keys again.
        :raises InvalidInputError: when the retention is not above zero.
        """
        positive("retention", retention)
        swept = self._sweep(limit)
        if retention is not None:
            self.cleaning.forget(retention)
        return swept

    def claimable(self, limit: int = 100) -> list[str]:
        """Return hints for what can be acquired now, in the acquisition order."""
        return self.looking.claimable(limit)

    def partition(self, key: str) -> Partition | None:
        """Return one partition, ``None`` if there is none."""
        return self.looking.partition(key)

    def partitions(
        self,
        status: PartitionStatus | None = None,
        after: str | None = None,
        limit: int = 1000,
        *,
        parked: bool | None = None,
        prefix: str | None = None,
    ) -> Sequence[Partition]:
        """Return up to ``limit`` partitions in byte order of their keys, above ``after``, in one status if given.

        :param parked: only those that are parked, or only others; parked ones are CLOSED.
        :param prefix: only keys that begin so; others are not read.
        """
        return self.looking.partitions(status, after, limit, parked=parked, prefix=prefix)

    def counts(self) -> dict[PartitionStatus, int]:
        """Return how many partitions are in each status."""
        return self.looking.counts()

    def explain(self, key: str) -> Explanation:
        """Return why a partition is not moving, what happens next by itself and when, and what to type.

        Sends eight requests at most, however large the source.

        :param key: also of a partition that was deleted, or is not there.
        :raises InvalidKeyError: when no partition can have it.
        """
        return self.looking.explain(key)

    def history(self, key: str, limit: int = 1000) -> list[PastTenure]:
        """Return who has held a partition, from when until when, how that ended, and what came of it; newest last.

        It is kept for the store's ``history_retention``; of the last eight endings some is known in any case.

        :param key: also of a partition that was deleted; empty for one that never was.
        :param limit: so many of the newest.
        """
        return self.looking.history(key, limit)

    def accounting(self, key: str | None = None) -> AddedUp:
        """Return what became of the records that were delivered, added up over the partitions of this source.

        Each counts as of its last accepted save or ending, in its present generation. It grows with the source.

        :param key: of this partition alone; nothing is counted for one that is not there.
        :raises InvalidInputError: when what is stored is corrupt.
        """
        return self.looking.accounting(key)

    def _sweep(self, limit: int) -> Swept:
        """Reopen CLOSED partitions whose time has come and reclaim expired leases, at most ``limit`` of each."""
        op, most = self._core.randomness.op_id(), self._core.settings.max_lost_leases
        write = Sweep(source=self._core.source_id, op=op, limit=check_limit(limit), max_lost_leases=most)
        swept = self._core.settler.repeat("sweep", lambda: self._core.store.sweep(write))
        self._core.count(Metric.REOPENED, swept.reopened)
        self._core.count(Metric.LOST, swept.reclaimed + swept.parked)
        self._core.count(Metric.HEALED, swept.released)
        self._core.count(Metric.PARKED, swept.parked)
        return swept

    def _hint(self, text: str) -> Hint:
        return decode_hint(text, self.store.store_id)

    def _acquire(self, hint: str | None) -> Lease | None:
        lease = self._acquisition.by_hint(self._hint(hint)) if hint is not None else None
        return lease or self._acquisition.by_query()

    def _counted(self, lease: Lease | None) -> Lease | None:
        if lease is not None:
            return self.counting.count_acquired(lease)
        if not self.pausing.holds_back():
            self._core.count(Metric.NONE_ACQUIRED)
        return None

    def _end(
        self,
        lease: Lease,
        request: EndRequest,
        blocks: Sequence[Block] = (),
        send: Callable[[End], Answer] | None = None,
    ) -> bool:
        """End a tenure and count it; return whether the store's answer was heard."""
        write, heard = self._core.tenures.end(lease, request, blocks, send=send)
        self.counting.count_records(lease, request.counted)
        if (counted := _COUNTED.get(write.outcome)) is not None:
            self._core.count(counted)
        self._core.count(Metric.PARKED, write.status is PartitionStatus.CLOSED and write.delay is None)
        self._core.count(Metric.CHILDREN_RELEASED, lease.chain.released)
        if write.outcome is Outcome.FAILED:
            self.pausing.brake()
        return heard
