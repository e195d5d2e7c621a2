"""A store that hands every call to another one: the base of stores that count, crash or lose answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from airflow_coordination.protocol.beside.chunk_sums import ChunkSums, ChunkTotals
from airflow_coordination.protocol.beside.documents import BranchCounts, Document, Looked, SetDocument
from airflow_coordination.protocol.beside.ended_sums import EndedSums, EndedTenure
from airflow_coordination.protocol.beside.key_ranges import KeyRanges
from airflow_coordination.protocol.beside.parts import StoreParts, parts_of
from airflow_coordination.protocol.follow_up import FollowUp, Forget
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.port import AUDITED, PartitionStore
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.results import Answer, Created, FusedAnswer, HeadRecord, Outlook, PauseAnswer, Swept
from airflow_coordination.protocol.writes import (
    AcquireNext,
    Act,
    Create,
    End,
    FencedWrite,
    KnownAcquisition,
    Place,
    SetInterval,
    SetPause,
    Sweep,
)
from airflow_coordination.values.accounting import AddedUp
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Span

T = TypeVar("T")


def there(part: T | None) -> T:
    """Return a part that a store must have: nobody asks for what :func:`~.parts.parts_of` does not name."""
    assert part is not None, "this store lacks the part"
    return part


class ForwardingStore:
    """Forwards each call to ``store`` through :meth:`forward`, which subclasses override; it has that store's parts.

    :param store: the store that does the work.
    """

    def __init__(self, store: PartitionStore) -> None:
        self.store = store
        self.partition_prefix = store.partition_prefix

    def forward(self, name: str, call: Callable[[], T]) -> T:
        """Carry out one call.

        :param name: the method's name in the port.
        :param call: sends it.
        """
        return call()

    def parts(self) -> StoreParts:
        """Return the parts of the store below, as far as it has them, behind :meth:`forward`."""
        has = parts_of(self.store)
        return StoreParts(
            fused=None if has.fused is None else self,
            pauses=None if has.pauses is None else self,
            history=None if has.history is None else self,
            follow_ups=None if has.follow_ups is None else self,
            sums=None if has.sums is None else self,
            ranges=None if has.ranges is None else self,
            glances=None if has.glances is None else self,
            head_intervals=None if has.head_intervals is None else self,
            enabling=None if has.enabling is None else self,
            chunks=None if has.chunks is None else self,
            documents=None if has.documents is None else self,
            branches=None if has.branches is None else self,
            ended=None if has.ended is None else self,
        )

    @property
    def store_id(self) -> str:
        """See the port, here and below."""
        return self.store.store_id

    @property
    def description(self) -> str:  # noqa: D102
        return self.store.description

    @property
    def reference(self) -> str | None:  # noqa: D102
        return self.store.reference

    @property
    def create_page(self) -> int:  # noqa: D102
        return self.store.create_page

    @property
    def pause_holds_after(self) -> timedelta:  # noqa: D102
        return there(parts_of(self.store).pauses).pause_holds_after

    def setup(self) -> None:  # noqa: D102
        self.store.setup()

    def close(self) -> None:  # noqa: D102
        self.store.close()

    def now(self) -> datetime:  # noqa: D102
        return self.forward("now", self.store.now)

    def register(self, source: str, facts: dict[str, Any]) -> None:  # noqa: D102
        self.forward("register", lambda: self.store.register(source, facts))

    def sources(self) -> Sequence[tuple[str, dict[str, Any]]]:  # noqa: D102
        return self.forward("sources", self.store.sources)

    def create(self, write: Create) -> Created:  # noqa: D102
        return self.forward("create", lambda: self.store.create(write))

    def acquire_next(self, write: AcquireNext) -> Partition | None:  # noqa: D102
        return self.forward("acquire_next", lambda: self.store.acquire_next(write))

    def acquire(self, write: KnownAcquisition) -> Answer:  # noqa: D102
        return self.forward("acquire", lambda: self.store.acquire(write))

    def write(self, write: FencedWrite) -> Answer:  # noqa: D102
        return self.forward("write", lambda: self.store.write(write))

    def complete_and_acquire(self, end: End, following: AcquireNext) -> FusedAnswer:  # noqa: D102
        fused = there(parts_of(self.store).fused)
        return self.forward("complete_and_acquire", lambda: fused.complete_and_acquire(end, following))

    def sweep(self, write: Sweep) -> Swept:  # noqa: D102
        return self.forward("sweep", lambda: self.store.sweep(write))

    def act(self, write: Act) -> Answer:  # noqa: D102
        return self.forward("act", lambda: self.store.act(write))

    def place(self, write: Place) -> Answer:  # noqa: D102
        return self.forward("place", lambda: self.store.place(write))

    def refresh(self, write: Refresh) -> Answer:  # noqa: D102
        return self.forward("refresh", lambda: self.store.refresh(write))

    def set_pause(self, write: SetPause) -> PauseAnswer:  # noqa: D102
        pauses = there(parts_of(self.store).pauses)
        return self.forward("set_pause", lambda: pauses.set_pause(write))

    def pause(self, source: str) -> Pause:  # noqa: D102
        pauses = there(parts_of(self.store).pauses)
        return self.forward("pause", lambda: pauses.pause(source))

    def holds_back(self, source: str) -> bool:  # noqa: D102
        pauses = there(parts_of(self.store).pauses)
        return self.forward("pause", lambda: pauses.holds_back(source))

    def get(self, source: str, key: str) -> Partition | None:  # noqa: D102
        return self.forward("get", lambda: self.store.get(source, key))

    def find_nonce(self, source: str, nonce: str) -> Partition | None:  # noqa: D102
        return self.forward("find_nonce", lambda: self.store.find_nonce(source, nonce))

    def find_task(self, source: str, task: str) -> Sequence[Partition]:  # noqa: D102
        return self.forward("find_task", lambda: self.store.find_task(source, task))

    def page(  # noqa: D102
        self,
        source: str,
        status: PartitionStatus | None,
        after: str | None,
        limit: int,
        *,
        parked: bool | None = None,
    ) -> Sequence[Partition]:
        return self.forward("page", lambda: self.store.page(source, status, after, limit, parked=parked))

    def claimable(self, source: str, limit: int) -> Sequence[tuple[str, int]]:  # noqa: D102
        return self.forward("claimable", lambda: self.store.claimable(source, limit))

    def counts(self, source: str) -> dict[PartitionStatus, int]:  # noqa: D102
        return self.forward("counts", lambda: self.store.counts(source))

    def outlook(self, source: str) -> Outlook:  # noqa: D102
        return self.forward("outlook", lambda: self.store.outlook(source))

    def heads(  # noqa: D102
        self,
        source: str,
        dataset: str | None = None,
        key: str | None = None,
        after: str | None = None,
        limit: int = 1000,
        after_dataset: str | None = None,
        *,
        within: Span | None = None,
    ) -> Sequence[HeadRecord]:
        page = source, dataset, key, after, limit, after_dataset
        narrowed: dict[str, Any] = {} if within is None else {"within": within}  # others may not know it
        return self.forward("heads", lambda: self.store.heads(*page, **narrowed))

    def history(self, source: str, key: str | None = None, limit: int = 1000) -> Sequence[PastTenure]:  # noqa: D102
        kept = there(parts_of(self.store).history)
        return self.forward("history", lambda: kept.history(source, key, limit))

    def children(self, source: str, parent: str, after: str | None, limit: int) -> Sequence[Partition]:  # noqa: D102
        return self.forward("children", lambda: self.store.children(source, parent, after, limit))

    def follow_ups(  # noqa: D102
        self, source: str, key: str | None, after: FollowUp | None, limit: int
    ) -> Sequence[FollowUp]:
        notes = there(parts_of(self.store).follow_ups)
        return self.forward("follow_ups", lambda: notes.follow_ups(source, key, after, limit))

    def clear_follow_up(self, done: FollowUp) -> None:  # noqa: D102
        notes = there(parts_of(self.store).follow_ups)
        self.forward("clear_follow_up", lambda: notes.clear_follow_up(done))

    def forget_follow_up(self, write: Forget) -> None:  # noqa: D102
        notes = there(parts_of(self.store).follow_ups)
        self.forward("forget_follow_up", lambda: notes.forget_follow_up(write))

    def set_interval(self, write: SetInterval) -> bool:  # noqa: D102
        intervals = there(parts_of(self.store).head_intervals)
        return self.forward("set_interval", lambda: intervals.set_interval(write))

    def accounting(self, source: str) -> AddedUp:  # noqa: D102
        sums = there(parts_of(self.store).sums)
        return self.forward("accounting", lambda: sums.accounting(source))

    def key_ranges(self, source: str, number: int) -> KeyRanges:  # noqa: D102
        counted = there(parts_of(self.store).ranges)
        return self.forward("key_ranges", lambda: counted.key_ranges(source, number))

    def parked_before(self, source: str, key: str) -> str | None:  # noqa: D102
        looking = there(parts_of(self.store).ranges)
        return self.forward("parked_before", lambda: looking.parked_before(source, key))

    def glance(self, source: str) -> Outlook:  # noqa: D102
        looking = there(parts_of(self.store).glances)
        return self.forward("glance", lambda: looking.glance(source))

    def put_chunks(self, source: str, rows: Sequence[ChunkSums]) -> None:  # noqa: D102
        kept = there(parts_of(self.store).chunks)
        self.forward("put_chunks", lambda: kept.put_chunks(source, rows))

    def chunks(  # noqa: D102
        self, source: str, dataset: str | None = None, after: tuple[str, str] | None = None, limit: int = 1000
    ) -> Sequence[ChunkSums]:
        kept = there(parts_of(self.store).chunks)
        return self.forward("chunks", lambda: kept.chunks(source, dataset, after, limit))

    def chunk_totals(self, source: str, dataset: str | None = None) -> Sequence[ChunkTotals]:  # noqa: D102
        kept = there(parts_of(self.store).chunks)
        return self.forward("chunk_totals", lambda: kept.chunk_totals(source, dataset))

    def forget_chunks(self, source: str, dataset: str) -> None:  # noqa: D102
        kept = there(parts_of(self.store).chunks)
        self.forward("forget_chunks", lambda: kept.forget_chunks(source, dataset))

    def audit(  # noqa: D102
        self, source: str, key: str | None, limit: int = AUDITED, before: str | None = None
    ) -> Sequence[dict[str, Any]]:
        return self.forward("audit", lambda: self.store.audit(source, key, limit, before))

    def outputs_enabled(self) -> bool:  # noqa: D102
        enabling = there(parts_of(self.store).enabling)
        return self.forward("outputs_enabled", enabling.outputs_enabled)

    def enable_outputs(self) -> None:  # noqa: D102
        enabling = there(parts_of(self.store).enabling)
        self.forward("enable_outputs", enabling.enable_outputs)

    def branches_enabled(self) -> bool:  # noqa: D102
        enabling = there(parts_of(self.store).enabling)
        return self.forward("branches_enabled", enabling.branches_enabled)

    def enable_branches(self) -> None:  # noqa: D102
        enabling = there(parts_of(self.store).enabling)
        self.forward("enable_branches", enabling.enable_branches)

    def document(self, source: str, name: str) -> Document | None:  # noqa: D102
        kept = there(parts_of(self.store).documents)
        return self.forward("document", lambda: kept.document(source, name))

    def look(self, source: str, name: str, branch: int | None = None) -> Looked:  # noqa: D102
        kept = there(parts_of(self.store).documents)
        return self.forward("look", lambda: kept.look(source, name, branch))

    def set_document(self, write: SetDocument) -> bool:  # noqa: D102
        kept = there(parts_of(self.store).documents)
        return self.forward("set_document", lambda: kept.set_document(write))

    def document_history(  # noqa: D102
        self, source: str, name: str, before: int | None = None, limit: int = 100
    ) -> list[Document]:
        kept = there(parts_of(self.store).documents)
        return self.forward("document_history", lambda: kept.document_history(source, name, before, limit))

    def documents(self, source: str, limit: int | None = None) -> list[Document]:  # noqa: D102
        kept = there(parts_of(self.store).documents)
        return self.forward("documents", lambda: kept.documents(source, limit))

    def forget_versions(self, source: str, beginning: str, before: datetime) -> int:  # noqa: D102
        kept = there(parts_of(self.store).documents)
        return self.forward("forget_versions", lambda: kept.forget_versions(source, beginning, before))

    def branch_counts(self, source: str, branch: int) -> BranchCounts:  # noqa: D102
        kept = there(parts_of(self.store).branches)
        return self.forward("branch_counts", lambda: kept.branch_counts(source, branch))

    def branch_partitions(  # noqa: D102
        self, source: str, branch: int, after: str | None, limit: int
    ) -> Sequence[Partition]:
        kept = there(parts_of(self.store).branches)
        return self.forward("branch_partitions", lambda: kept.branch_partitions(source, branch, after, limit))

    def ended_between(  # noqa: D102
        self, source: str, since: datetime, until: datetime, limit: int
    ) -> Sequence[EndedTenure]:
        kept = there(parts_of(self.store).ended)
        return self.forward("ended_between", lambda: kept.ended_between(source, since, until, limit))

    def ended_sums(self, source: str, limit: int) -> Sequence[EndedSums]:  # noqa: D102
        kept = there(parts_of(self.store).ended)
        return self.forward("ended_sums", lambda: kept.ended_sums(source, limit))

    def put_ended_sums(self, source: str, row: EndedSums, seen: datetime | None) -> bool:  # noqa: D102
        kept = there(parts_of(self.store).ended)
        return self.forward("put_ended_sums", lambda: kept.put_ended_sums(source, row, seen))

    def forget_ended_sums(self, source: str, before: datetime) -> None:  # noqa: D102
        kept = there(parts_of(self.store).ended)
        self.forward("forget_ended_sums", lambda: kept.forget_ended_sums(source, before))
