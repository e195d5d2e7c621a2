"""Creating partitions, by hand or by the source's supplier (Data Prepper: ``createPartitions``)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any

from airflow_coordination.leases.acquisition import Acquisition
from airflow_coordination.leases.cleaning import PORTION, CleanedUp, Cleaning
from airflow_coordination.leases.counting import Counting
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.looking import Looking
from airflow_coordination.leases.outcomes import GiveUpRequest
from airflow_coordination.leases.participant import Participant
from airflow_coordination.leases.people import People
from airflow_coordination.leases.supply import (
    SourceView,
    Supplier,
    SupplierPages,
    SupplierRun,
    check_state,
    check_supplier,
    encoded,
    supply,
    with_view,
    without_repeats,
)
from airflow_coordination.protocol.hierarchy import waves
from airflow_coordination.protocol.metrics import Metric
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.refreshing import Outdated, Refresh
from airflow_coordination.protocol.results import Created
from airflow_coordination.protocol.writes import Create, NewPartition
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionNotOwnedError
from airflow_coordination.values.input_errors import CoordinationError, shown
from airflow_coordination.values.names import (
    GLOBAL_STATE_KEY,
    MAX_SOURCE_BYTES,
    check_upkeep,
    check_users_name,
    namesakes,
    split_source,
)
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import positive
from airflow_coordination.values.whereabouts import is_gone

log = logging.getLogger(__name__)


def registered(store: PartitionStore, source_id: str) -> Mapping[str, Any]:
    """Return what the store's registry knows of one source; nothing of one that nobody has registered.

    :param source_id: its stored identifier.
    """
    return dict(store.sources()).get(source_id, {})


def dags_of(facts: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the DAGs that registered a source.

    :param facts: what the store's registry knows of the source. Older code has written the newest DAG only, or none.
    """
    several = facts.get("dag_ids")
    named = [facts.get("dag_id"), *(several if isinstance(several, list) else ())]
    return frozenset(name for name in named if isinstance(name, str))


@dataclass(eq=False, repr=False)
class View:
    """What a supplier may see of its source, and do to it, and nothing more: :class:`.supply.SourceView`."""

    _core: Participant
    _looking: Looking
    _people: People
    _counting: Counting

    @property
    def store(self) -> PartitionStore:
        """The store, for what comes of what another source has published in it."""
        return self._core.store

    @property
    def identifier(self) -> str:
        """The stored identifier of its partitions."""
        return self._core.source_id

    def partition(self, key: str) -> Partition | None:
        """Return one as it is now, ``None`` where there is none."""
        return self._looking.partition(key)

    def partitions(
        self,
        status: PartitionStatus | None = None,
        after: str | None = None,
        limit: int = 1000,
        *,
        parked: bool | None = None,
        prefix: str | None = None,
    ) -> Sequence[Partition]:
        """Return a page of its partitions, in byte order of their keys."""
        return self._looking.partitions(status, after, limit, parked=parked, prefix=prefix)

    def delete(self, key: str, by: str, why: str, seen: Partition | None = None) -> Partition:
        """Delete one as it was seen."""
        return self._people.delete(key, by, why, seen)

    def count(self, metric: Metric, count: int = 1) -> None:
        """Add to one of the source's counters."""
        self._counting.count(metric, count)


@dataclass(eq=False, repr=False)
class Supplying:
    """Creates a source's partitions, and knows the source to its store: :class:`SourceCoordinator` ``.supplying``.

    :param core: whose source.
    :param cleaning: under the same lease, after the supplier.
    :param heartbeat: keeps the supplier's lease alive while it runs.
    :param view: what a supplier sees of its source.
    """

    _core: Participant
    _cleaning: Cleaning
    _heartbeat: Callable[[Lease], Heartbeat]
    _view: SourceView
    _registered: bool = field(default=False, init=False)

    def create(self, partitions: Iterable[object], branch: int | None = None) -> Created:
        """Create the partitions that do not exist; see :meth:`SourceCoordinator.create_partitions`."""
        check_upkeep(self._core.source)
        if branch is not None:
            self._core.branches.begun(self._core.source_id, branch)
        self._register_if_new()
        total = Created()
        page: list[NewPartition] = []
        for new in encoded(partitions):
            page.append(new)
            if len(page) >= self._core.store.create_page:
                total += self._create(page, branch=branch)
                page = []
        return total + self._create(page, branch=branch) if page else total

    def run(self, supplier: Supplier, clean_after: timedelta | None = None, branch: int | None = None) -> SupplierRun:
        """Run the supplier under its lease; see :meth:`SourceCoordinator.run_supplier`.

        :param branch: that what it creates runs in; it has begun.
        :raises InvalidInputError: also when the branch is not begun: before the supplier is asked.
        """
        check_supplier(supplier)
        check_users_name(self._core.source, "source", MAX_SOURCE_BYTES)
        positive("clean_after", clean_after)
        if branch is not None:
            self._core.branches.begun(self._core.source_id, branch)
        leases = self._core.acquirer(self._core.global_id)
        lease = leases.by_query(GLOBAL_STATE_KEY) or self._first_global_lease(leases) or leases.retake(GLOBAL_STATE_KEY)
        if lease is None:
            rival = self._core.settler.read(self._core.global_id, GLOBAL_STATE_KEY)
            if rival is not None and is_gone(rival.owner):
                lease = self._after_the_gone(rival, leases)
        if lease is None:
            if rival is None:
                return SupplierRun(ran=False)
            return SupplierRun(ran=False, rival=rival.owner, rival_until=rival.ownership_timeout)
        with self._given_back(lease):
            pages = partial(self._supplier_pages, notes=clean_after is not None, branch=branch)
            seeing = with_view(supplier, self._view)
            return supply(lease, seeing, pages, self._heartbeat, partial(self._clean_all, clean_after))

    def _clean_all(self, clean_after: timedelta | None, beating: Heartbeat, named: Collection[str]) -> int:
        """Clean up portion by portion while the supplier's lease is held; return how many went.

        :param named: by the supplier just now: it would create them anew the next time.
        """
        if clean_after is None:
            return 0
        keep, done = frozenset(named), CleanedUp(after="")
        while done.after is not None and beating.lost is None:
            beating.alive()
            done += self._cleaning.clean_up(clean_after, keep=keep, after=done.after or None, limit=PORTION)
        if done.keys:
            log.info("Source %s: %d finished parent(s) cleaned up.", shown(self._core.source), len(done.keys))
        return len(done.keys)

    def _after_the_gone(self, rival: Partition, leases: Acquisition) -> Lease | None:
        """End the run of a supplier whose process is gone, and acquire its lease."""
        left = self._core.tenures.start(rival, self._core.clock.monotonic())
        with suppress(PartitionNotOwnedError, PartitionNotFoundError):  # somebody else was faster
            self._core.tenures.end(left, GiveUpRequest())
        return leases.by_query(GLOBAL_STATE_KEY)

    def supplier_rival(self) -> Partition | None:
        """Return the supplier's item while somebody else, alive or dead, holds its lease, otherwise ``None``."""
        found = self._core.settler.read(self._core.global_id, GLOBAL_STATE_KEY)
        held = found is not None and found.status is PartitionStatus.ASSIGNED and found.owner != self._core.owner.text
        return found if held else None

    def global_state(self) -> dict[str, Any]:
        """Return what the supplier remembers; empty before its first run."""
        found = self._core.settler.read(self._core.global_id, GLOBAL_STATE_KEY)
        return dict(found.progress_state or {}) if found else {}

    def register(self, **facts: Any) -> None:
        """Record this source and what is known of it (dag ids, settings) in the store's registry (promise S18)."""
        check_state(facts)
        self._core.settler.repeat("register the source", lambda: self._core.store.register(self._core.source_id, facts))
        self._registered = True

    def register_dag(self, dag_id: str) -> None:
        """Record that a DAG makes this source's partitions, beside those that have done so before.

        To them the source belongs: who may read one of them sees it on the board. Of two DAGs that register for the
        first time at the same moment, one may be missing until its next run.

        :param dag_id: Airflow's name of the DAG.
        """
        look = partial(registered, self._core.store, self._core.source_id)
        known = self._core.settler.repeat("list the sources", look)
        if known.get("dag_id") == dag_id and dag_id in known.get("dag_ids", ()):
            return  # whoever is let work on this source alone may not write what is known of all
        try:
            self.register(**{**known, "dag_id": dag_id, "dag_ids": sorted({*dags_of(known), dag_id})})
        except CoordinationError:
            if dag_id not in dags_of(known):
                raise

    def _create(self, page: Sequence[NewPartition], source_id: str | None = None, branch: int | None = None) -> Created:
        distinct, created = without_repeats(page)
        for wave in waves(distinct):
            created += self._create_wave(wave, source_id, branch)
        return created

    def _create_wave(self, wave: tuple[NewPartition, ...], source_id: str | None, branch: int | None) -> Created:
        source, op = source_id or self._core.source_id, self._core.randomness.op_id()
        write = Create(source=source, op=op, partitions=wave, branch=branch)
        created = self._core.settler.repeat("create partitions", lambda: self._core.store.create(write))
        if source_id is None:
            self._core.count(Metric.CREATED, created.created)
        return self._refreshed(write, created) if created.outdated else created

    def _refreshed(self, write: Create, created: Created) -> Created:
        """Give what was reset the payload that is offered now; what somebody has acquired meanwhile keeps its own."""
        offered = {new.key: new for new in write.partitions}
        seen = {old.key: self._refresh(write.source, old, offered[old.key]) for old in created.outdated}
        refreshed = {key: now for key, now in seen.items() if now is not None}
        same = {
            key
            for key, now in refreshed.items()
            if (now.priority, now.parents) == (offered[key].priority, offered[key].parents)
        }
        changed = tuple(key for key in created.changed if key not in same)
        return replace(created, changed=changed, refreshed=len(refreshed), outdated=())

    def _refresh(self, source: str, old: Outdated, new: NewPartition) -> Partition | None:
        """Return a partition with its new payload, ``None`` where somebody was faster; a lost answer is asked again."""
        write = Refresh(
            source=source, key=old.key, generation=old.generation, seen=old.payload_text, payload_text=new.payload_text
        )
        now = self._core.settler.repeat("refresh a payload", lambda: self._core.store.refresh(write)).partition
        done = now is not None and now.last_op == old.generation and now.payload_text == new.payload_text
        return now if done else None

    def _register_if_new(self) -> None:
        """Put the source into the store's registry, once, before its first partitions."""
        if self._registered:
            return
        known = [name for name, _ in self._core.settler.repeat("list the sources", self._core.store.sources)]
        if self._core.source_id not in known:
            for other in namesakes(self._core.source_id, known):
                log.warning(
                    "Source %s is new in this store and shares nothing with %s, which has its name under another "
                    "prefix. If that is its work, stop, and %s partition_prefix.",
                    self._core.source_id,
                    other,
                    "correct the" if split_source(other)[0] else "leave out the",
                )
            self.register()
        self._registered = True

    def _first_global_lease(self, leases: Acquisition) -> Lease | None:
        page = [NewPartition(key=GLOBAL_STATE_KEY, payload_text=None, priority=0)]
        created = self._create(page, self._core.global_id)
        return leases.by_query(GLOBAL_STATE_KEY) if created.created else None

    def _supplier_pages(self, lease: Lease, *, notes: bool, branch: int | None) -> SupplierPages:
        def save(state: dict[str, Any]) -> None:
            with self._core.watched(Metric.SAVE_ERRORS):
                self._core.tenures.save(lease, state, ())

        return SupplierPages(partial(self.create, branch=branch), save, notes=notes)

    @contextmanager
    def _given_back(self, lease: Lease) -> Iterator[None]:
        """Give the supplier's lease back at the end, whatever happens; what a successor holds is left alone."""
        try:
            yield
        finally:
            if lease.ending is None:
                with suppress(CoordinationError):  # it ends by itself; the supplier's own error matters more
                    self._core.tenures.end(lease, GiveUpRequest())
