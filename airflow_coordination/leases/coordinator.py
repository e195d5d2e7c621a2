"""SourceCoordinator: the one door to a source's partitions (Data Prepper: ``SourceCoordinator``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

from airflow_coordination.leases.acquisition import Acquisition
from airflow_coordination.leases.blocks import Block
from airflow_coordination.leases.clock import Clock, Randomness, SystemClock
from airflow_coordination.leases.documents import encode_progress
from airflow_coordination.leases.errors import (
    CoordinationError,
    PartitionNotFoundError,
    PartitionNotOwnedError,
)
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.leases.hints import Hint, decode_hint
from airflow_coordination.leases.metrics import CountingMetrics, Metric, Metrics, full_name
from airflow_coordination.leases.names import GLOBAL_STATE_KEY, check_key, compose_source
from airflow_coordination.leases.overview import Overview
from airflow_coordination.leases.partition import (
    Created,
    Fence,
    Lease,
    Outcome,
    Owner,
    Partition,
)
from airflow_coordination.leases.people import People, PeopleActions
from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.leases.settings import CREATE_PAGE, Settings
from airflow_coordination.leases.settle import Settler
from airflow_coordination.leases.supply import (
    Supplier,
    SupplierPages,
    SupplierRun,
    check_state,
    encoded,
    supply,
    without_repeats,
)
from airflow_coordination.leases.tenures import Tenures, duration
from airflow_coordination.leases.writes import Answer, Create, End, NewPartition

_SETTINGS = Settings()
_NO_LIMIT = 2**31 - 1
"""The global state is never parked: a dead supplier is always replaced (promise L4)."""


class SourceCoordinator(Overview, PeopleActions):
    """Hands out the partitions of one source under leases.

    Thread-safe. Every call that writes as an owner takes the lease, and succeeds only under its fence
    (promise S2). Every call has a deadline on this side; a lost answer is settled (promise S6).

    :param store: from :func:`airflow_coordination.stores.open_store`.
    :param source: the source's name.
    :param owner: who acts: ``hostname/dag/run/task/map index/try`` for Airflow tasks, any text otherwise.
    :param partition_prefix: keeps deployments that share a store apart (Data Prepper: ``partition_prefix``).
    :param ownership_timeout: how long a lease lasts without renewal; default 10 minutes (Data Prepper).
    :param max_closed_count: this many closes complete a partition; ``None`` = no limit.
    :param max_failures: this many failures park a partition.
    :param max_lost_leases: this many leases lost without an ending park a partition.
    :param settings: all timers and limits at once; the four above replace its own where given.
    :param metrics: where the seed's metrics go; in memory by default.
    :raises InvalidInputError: naming the argument, when one cannot be used.
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
        self.settings = dataclasses.replace(settings or _SETTINGS, **named)  # type: ignore[arg-type]
        self.store, self.source, self.partition_prefix = store, source, partition_prefix
        self.owner = Owner(check_key(owner, "owner"))
        self.metrics = metrics or CountingMetrics()
        self._refusals = CountingMetrics()
        self._source_id = compose_source(source, partition_prefix, "PARTITION")
        self._global_id = compose_source(source, partition_prefix, "GLOBAL_STATE")
        self._clock, self._randomness = clock or SystemClock(), randomness or Randomness()
        self._settler = Settler(store, self._clock, self._randomness, self.settings.request_deadline)
        self._tenures = Tenures(store, self.settings, self._settler, self._clock, self._randomness)
        self._acquisition = self._acquirer(self._source_id)
        self._registered = False
        self._people = People(store, self._source_id, self._settler, self._randomness)

    # -- creating ---------------------------------------------------------------------------------------------

    def create_partitions(self, partitions: Iterable[object]) -> Created:
        """Create the partitions that do not exist, in this order; the others stay as they are.

        :param partitions: keys or identifiers; read in pages, so a generator may yield millions.
        :return: how many were created and existed, and whose payload differs from the stored one.
        :raises InvalidInputError: for a key, payload or priority that cannot be stored; pages before it are created.
        """
        self._register_if_new()
        total = Created()
        page: list[NewPartition] = []
        for new in encoded(partitions):
            page.append(new)
            if len(page) >= CREATE_PAGE:
                total += self._create(page)
                page = []
        return total + self._create(page) if page else total

    def run_supplier(self, supplier: Supplier) -> SupplierRun:
        """Run the supplier under the source's global-state lease; on one node at a time.

        A supplier's exception propagates; its lease is given back, and partitions created so far stay.

        :param supplier: called with the global state (a dict). It changes it and returns identifiers, or is a
            generator that yields identifiers and :class:`Checkpoint`.
        :return: what was created; ``ran`` is false while a rival runs the supplier.
        :raises PartitionNotOwnedError: when the supplier's lease was lost meanwhile; its state was not saved.
        """
        leases = self._acquirer(self._global_id)
        lease = leases.by_query(GLOBAL_STATE_KEY)
        if lease is None:
            lease = self._first_global_lease(leases)
        if lease is None:
            rival = self._settler.repeat(
                "read the global state", lambda: self._store_get(self._global_id, GLOBAL_STATE_KEY)
            )
            return SupplierRun(ran=False, rival=rival.owner if rival else None)
        with self._given_back(lease):
            return supply(lease, supplier, self._supplier_pages, self.heartbeat)

    def global_state(self) -> dict[str, Any]:
        """Return what the supplier remembers; empty before its first run."""
        found = self._settler.repeat(
            "read the global state", lambda: self._store_get(self._global_id, GLOBAL_STATE_KEY)
        )
        return dict(found.progress_state or {}) if found else {}

    def register(self, **facts: Any) -> None:
        """Record this source and what is known of it (dag ids, settings) in the store's registry (promise S18)."""
        check_state(facts)
        self._settler.repeat("register the source", lambda: self.store.register(self._source_id, facts))
        self._registered = True

    # -- acquiring --------------------------------------------------------------------------------------------

    def get_next_partition(self, supplier: Supplier | None = None, hint: str | None = None) -> Lease | None:
        """Acquire one partition: the hint first, then crashed, reopened, new ones, then the supplier once, then again.

        Now and then (1 in 8) the order starts at "new", so that no class starves (promise S9).

        :param supplier: run when nothing can be acquired; see :meth:`run_supplier`.
        :param hint: from :meth:`claimable`, or a plain key.
        :return: the lease, or ``None`` when there is nothing to do, which is counted (``noPartitionsAcquired``).
        :raises StoreMismatchError: when the hint was made on another store.
        """
        lease = self._acquire(hint)
        if lease is None and supplier is not None:
            self.run_supplier(supplier)
            lease = self._acquire(None)
        return self._counted(lease)

    def acquire_partition(self, key: str) -> Lease | None:
        """Acquire this partition and no other; ``None`` when it cannot be had now."""
        return self._counted(self._acquisition.by_hint(self._hint(key)))

    def retake(self, key: str) -> Lease | None:
        """Take a partition over, at once, from an earlier try of this task; ``None`` if none holds it."""
        lease = self._acquisition.retake(check_key(key))
        return self._counted(lease) if lease else None

    def adopt(self, key: str, fence: Fence) -> bool:
        """Put a running tenure of an earlier try of this task under this try's watch; false if it is over."""
        return self._acquisition.adopt(check_key(key), fence)

    def begin(self, key: str, fence: Fence) -> Lease:
        """Go on with a tenure that a task handed to this driver: the driver's first write.

        A second driver process of the same submission finds the first one out here and retakes from it.

        :raises PartitionNotOwnedError: when the tenure is over.
        """
        with self._watched(None):
            lease = self._acquisition.begin(check_key(key), fence)
        return lease if lease.fence == fence else self._counted_lease(lease)

    def held_by_task(self) -> Sequence[Partition]:
        """Return the partitions that any try of this owner's Airflow task holds."""
        return self._settler.repeat(
            "look for own leases", lambda: self.store.find_task(self._source_id, self.owner.task)
        )

    # -- owning -----------------------------------------------------------------------------------------------

    def renew(self, lease: Lease) -> Lease:
        """Hold the lease for another ownership timeout from now.

        :raises PartitionNotOwnedError: when it is over: stop the work.
        """
        with self._watched(None):
            return self._tenures.renew(lease)

    def save_progress_state(self, lease: Lease, state: object, blocks: Sequence[Block] = ()) -> Lease:
        """Save progress and the blocks finished since the last save; also renews (Data Prepper: ``saveState``).

        :param state: any JSON value but ``None``: at most 256 KiB and 32 levels, string keys, no NaN.
        :raises ProgressStateError: when it is not; the last good state stays.
        """
        with self._watched(Metric.SAVE_ERRORS):
            return self._tenures.save(lease, state, blocks)

    def complete(self, lease: Lease, blocks: Sequence[Block] = ()) -> None:
        """End the tenure: the partition is COMPLETED, and all saved and given blocks are published in the same step."""
        with self._watched(Metric.COMPLETE_ERRORS):
            self._end(lease, self._tenures.completed(lease), blocks, ("complete",))

    def close(
        self,
        lease: Lease,
        reopen_after: timedelta | datetime,
        state: object = None,
        blocks: Sequence[Block] = (),
    ) -> None:
        """End the tenure: the partition is CLOSED until ``reopen_after`` from now, COMPLETED at ``max_closed_count``.

        :param reopen_after: a duration, or a moment by the store's clock.
        :param state: progress for the next pass; ``None`` starts it afresh, as in Data Prepper.
        """
        with self._watched(Metric.CLOSE_ERRORS):
            after = duration("reopen_after", reopen_after, self.store.now) or timedelta(0)
            intent = ("close", reopen_after, encode_progress(state))
            self._end(lease, self._tenures.closed(lease, after, state), blocks, intent)

    def fail(self, lease: Lease, error: str, retry_after: timedelta | datetime | None = None) -> None:
        """End the tenure as failed: wait, count, and park at the maximum; progress and saved blocks are kept.

        :param error: kept as the partition's last error, 2,000 characters at most.
        :param retry_after: the wait; by default doubling from 30 s to 1 h.
        """
        with self._watched(None):
            after = duration("retry_after", retry_after, self.store.now)
            self._end(lease, self._tenures.failed(lease, error, after), (), ("fail", error, retry_after))

    def give_up(self, lease: Lease, retry_after: timedelta | datetime | None = None) -> None:
        """End the tenure without counting anything; the partition is free at once, or after ``retry_after``."""
        with self._watched(None):
            after = duration("retry_after", retry_after, self.store.now)
            self._end(lease, self._tenures.given_up(lease, after), (), ("give up", retry_after))

    def complete_and_get_next(
        self, lease: Lease, blocks: Sequence[Block] = (), hint: str | None = None
    ) -> Lease | None:
        """Complete and acquire the next partition, in one commit where the store can (SQL).

        :return: the next lease, or ``None`` when there is nothing more to do, which is counted.
        """
        if not self.store.has_fused_step:
            self.complete(lease, blocks)
            return self.get_next_partition(hint=hint)
        wanted = self._hint(hint).key if hint is not None else None
        following = self._complete_and_acquire(lease, blocks, wanted)
        if following is None and hint is not None:
            following = self._acquire(None)
        return self._counted(following)

    def fail_for_dead_owner(self, key: str, fence: Fence, error: str) -> bool:
        """End a tenure as failed in the place of its driver, which is known to be dead.

        :return: whether the tenure was still going on; false when it had ended by itself.
        :raises PartitionNotFoundError: when there is no such partition.
        """
        return self._end_for_dead_owner(key, fence, lambda lease: self._tenures.failed(lease, error, None))

    def give_up_for_dead_owner(self, key: str, fence: Fence) -> bool:
        """Give a tenure up in the place of its driver, which was ended on purpose; see :meth:`fail_for_dead_owner`."""
        return self._end_for_dead_owner(key, fence, lambda lease: self._tenures.given_up(lease, None))

    def _end_for_dead_owner(
        self, key: str, fence: Fence, ending: Callable[[Lease], Callable[[Partition, str], End]]
    ) -> bool:
        while True:
            seen = self._settler.repeat("read a partition", lambda: self._store_get(self._source_id, key))
            if seen is None:
                raise PartitionNotFoundError(key, self.source)
            if not seen.held_under(fence):
                return False
            lease = self._tenures.start(seen, self._clock.monotonic())
            try:
                self._tenures.end(lease, ending(lease))
            except PartitionNotOwnedError as refused:
                if refused.ending is None or refused.ending.outcome is not Outcome.OVERTAKEN:
                    return False
            else:
                return True

    def heartbeat(
        self,
        lease: Lease,
        on_lost: Callable[[CoordinationError], object] = lambda error: None,
        progress: Callable[[], object] | None = None,
    ) -> Heartbeat:
        """Return a context manager that keeps ``lease`` alive in a thread of its own; see :class:`Heartbeat`."""
        return Heartbeat(self.renew, lease, on_lost, self.settings, progress, self._clock, self._randomness)

    @property
    def refusals(self) -> int:
        """How many calls of this coordinator were refused because their fence was no longer the current one (exact)."""
        return self._refusals.counts.get("refused", 0)

    # -- inside -----------------------------------------------------------------------------------------------

    def _acquirer(self, source_id: str) -> Acquisition:
        never_parked = dataclasses.replace(self.settings, max_lost_leases=_NO_LIMIT)
        return Acquisition(
            self.store,
            source_id,
            self.owner,
            self.settings if source_id == self._source_id else never_parked,
            self._settler,
            self._tenures,
            self._clock,
            self._randomness,
        )

    def _store_get(self, source_id: str, key: str) -> Partition | None:
        return self.store.get(source_id, key)

    def _hint(self, text: str) -> Hint:
        return decode_hint(text, self.store.store_id)

    def _acquire(self, hint: str | None) -> Lease | None:
        lease = self._acquisition.by_hint(self._hint(hint)) if hint is not None else None
        return lease or self._acquisition.by_query()

    def _counted(self, lease: Lease | None) -> Lease | None:
        if lease is not None:
            return self._counted_lease(lease)
        self._count(Metric.NONE_ACQUIRED)
        return None

    def _counted_lease(self, lease: Lease) -> Lease:
        self._count(Metric.ACQUIRED)
        return lease

    def _count(self, metric: Metric, count: int = 1) -> None:
        if count:
            self.metrics.incr(full_name(self.source, metric), count)

    def _end(
        self,
        lease: Lease,
        ending: Callable[[Partition, str], End],
        blocks: Sequence[Block],
        intent: object,
        send: Callable[[End], Answer] | None = None,
    ) -> bool:
        """End a tenure and count it; return whether the store's answer was heard."""
        write, heard = self._tenures.end(lease, ending, blocks, intent=intent, send=send)
        counted = {Outcome.CLOSED: Metric.CLOSED, Outcome.COMPLETED: Metric.COMPLETED}
        if write.outcome in counted:
            self._count(counted[write.outcome])
        return heard

    @contextmanager
    def _watched(self, update_errors: Metric | None) -> Iterator[None]:
        """Count what an owner's call raises: the coordinator's own counts of refusals are exact."""
        try:
            yield
        except PartitionNotOwnedError:
            self._refusals.incr("refused")
            self._count(Metric.NOT_OWNED)
            raise
        except PartitionNotFoundError:
            self._count(Metric.NOT_FOUND)
            raise
        except CoordinationError:
            if update_errors is not None:
                self._count(update_errors)
            raise

    def _create(self, page: Sequence[NewPartition], source_id: str | None = None) -> Created:
        distinct, repeated = without_repeats(page)
        write = Create(source=source_id or self._source_id, op=self._randomness.op_id(), partitions=distinct)
        created = self._settler.repeat("create partitions", lambda: self.store.create(write))
        if source_id is None:
            self._count(Metric.CREATED, created.created)
        return created + repeated

    def _complete_and_acquire(self, lease: Lease, blocks: Sequence[Block], key: str | None) -> Lease | None:
        fused = self._acquisition.fused(key)
        with self._watched(Metric.COMPLETE_ERRORS), fused:
            heard = self._end(lease, self._tenures.completed(lease), blocks, ("complete",), fused.send)
        return fused.acquired(heard)

    def _register_if_new(self) -> None:
        """Put the source into the store's registry, once, before its first partitions."""
        if self._registered:
            return
        known = self._settler.repeat("list the sources", self.store.sources)
        if self._source_id not in (name for name, _ in known):
            self.register()
        self._registered = True

    def _first_global_lease(self, leases: Acquisition) -> Lease | None:
        page = [NewPartition(key=GLOBAL_STATE_KEY, payload_text=None, priority=0)]
        created = self._create(page, self._global_id)
        return leases.by_query(GLOBAL_STATE_KEY) if created.created else None

    def _supplier_pages(self, lease: Lease) -> SupplierPages:
        def save(state: dict[str, Any]) -> None:
            with self._watched(Metric.SAVE_ERRORS):
                self._tenures.save(lease, state, ())

        return SupplierPages(self.create_partitions, save)

    @contextmanager
    def _given_back(self, lease: Lease) -> Iterator[None]:
        """Give the supplier's lease back at the end, whatever happens; what a successor holds is left alone."""
        try:
            yield
        finally:
            if lease.ending is None:
                with suppress(CoordinationError):  # it ends by itself; the supplier's own error matters more
                    self._tenures.end(lease, self._tenures.given_up(lease, timedelta(0)))
