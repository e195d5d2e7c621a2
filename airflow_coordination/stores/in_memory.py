"""The store of one process: a dict under a lock, executing the protocol's reference steps themselves."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, Never

from airflow_coordination.leases.handover import HANDOVER_VARIABLE
from airflow_coordination.protocol import steps
from airflow_coordination.protocol.beside.chunk_sums import ChunkSums, ChunkTotals, added_up
from airflow_coordination.protocol.beside.documents import BranchCounts, Document, Looked, SetDocument
from airflow_coordination.protocol.beside.key_ranges import KeyRanges
from airflow_coordination.protocol.beside.parts import StoreParts
from airflow_coordination.protocol.follow_up import FollowUp, Forget
from airflow_coordination.protocol.hierarchy import unfinished
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.port import AUDITED
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.results import Answer, Created, FusedAnswer, HeadRecord, Outlook, PauseAnswer, Swept
from airflow_coordination.protocol.rules import ACQUIRE, RECLAIM, RULES
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
from airflow_coordination.stores.in_memory_looking import KeepsEnded, outlook_of, ranges_of
from airflow_coordination.stores.in_memory_source import StoredSource, place_of
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.settings import CREATE_PAGE
from airflow_coordination.values.status import PartitionStatus, Rank
from airflow_coordination.values.times import Clock, Randomness, Span, SystemClock

SUPERVISED_VARIABLE: Final = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"
SUPERVISED_VALUE: Final = "airflow-db-not-allowed:///"
"""What Airflow's supervisor sets in every process it forks for a task; ``dag.test()`` runs tasks without it."""

_SEED_ORDER: Final = (Rank.CRASHED, Rank.REOPENED, Rank.NEW)
_NEW_FIRST: Final = (Rank.NEW, Rank.CRASHED, Rank.REOPENED)


def _refuse(problem: str) -> Never:
    raise SettingsError(
        "store",
        "in_memory",
        f"serves one process only, and {problem}",
        "Use sqlite:////path/to/coordination.db on one machine, or postgresql+psycopg://user@host/database",
    )


def _check_place(environment: Mapping[str, str]) -> None:
    """Refuse processes whose partitions nobody else would ever see (promise S17)."""
    if environment.get(SUPERVISED_VARIABLE) == SUPERVISED_VALUE:
        _refuse("each supervised Airflow task is a process of its own")
    if HANDOVER_VARIABLE in environment:
        _refuse("this Spark driver was started by an Airflow task")


class InMemoryStore(KeepsEnded):
    """Keeps partitions in this process and loses them with it: for unit tests, ``dag.test()`` and ``drain()``.

    Threads may share it. It refuses to work in a forked child, a supervised Airflow task, and a Spark driver
    that a task started, because each would see a store of its own (promise S17).

    :param clock: decides when leases end; the machine's unless a test gives another.
    :param randomness: makes the store's id.
    :raises SettingsError: in a process where it cannot work; every method checks again.
    """

    pause_holds_after: Final = timedelta(0)
    create_page: Final = CREATE_PAGE
    reference: Final = None
    description: Final = "in_memory (this process only)"
    partition_prefix: str | None = None

    def __init__(self, clock: Clock | None = None, randomness: Randomness | None = None) -> None:
        _check_place(os.environ)
        self._clock = clock or SystemClock()
        self._store_id = f"memory-{(randomness or Randomness()).op_id()}"
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._sources: defaultdict[str, StoredSource] = defaultdict(StoredSource)
        self._registered: dict[str, dict[str, Any]] = {}
        self._enabled: set[str] = set()  # shared with its twins, as everything is

    def parts(self) -> StoreParts:
        """Return what this store has beside leases; sums are left to who reads every partition."""
        return StoreParts(
            fused=self,
            pauses=self,
            history=self,
            follow_ups=self,
            ranges=self,
            head_intervals=self,
            enabling=self,
            chunks=self,
            documents=self,
            branches=self,
            ended=self,
        )

    def shared(self) -> InMemoryStore:
        """Return the same store, with a partition prefix of its own."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        return twin

    def __reduce__(self) -> Never:
        _refuse("it cannot be copied to another one")

    @contextmanager
    def _step(self) -> Iterator[datetime]:
        """Hold the lock for one step, and give the step its time."""
        if os.getpid() != self._process:
            _refuse("this is a forked child")
        _check_place(os.environ)
        with self._lock:
            yield self._clock.now()

    def _source(self, name: str) -> StoredSource:
        return self._sources[name]

    @property
    def store_id(self) -> str:
        """The id this store was given when it was made (promise S18)."""
        return self._store_id

    def setup(self) -> None:
        """Check that this process may use the store; there is no schema to create."""
        with self._step():
            pass

    def outputs_enabled(self) -> bool:
        """Return whether a person has said that originals may go; there is no older code in this process."""
        with self._step():
            return "outputs" in self._enabled

    def enable_outputs(self) -> None:
        """Note that originals may go."""
        with self._step():
            self._enabled.add("outputs")

    def branches_enabled(self) -> bool:
        """Return whether a person has said that there may be branches; there is no older code in this process."""
        with self._step():
            return "branches" in self._enabled

    def enable_branches(self) -> None:
        """Note that there may be branches, and that originals may go."""
        with self._step():
            self._enabled |= {"outputs", "branches"}

    def close(self) -> None:
        """Do nothing: the partitions live as long as the object."""

    def now(self) -> datetime:
        """Return the time of the store's clock."""
        with self._step() as now:
            return now

    def register(self, source: str, facts: dict[str, Any]) -> None:
        """Record or refresh a source and what is known of it."""
        with self._step():
            self._registered[source] = facts.copy()

    def sources(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """Return the registered sources with their facts, by name."""
        with self._step():
            return [(name, facts.copy()) for name, facts in sorted(self._registered.items())]

    def create(self, write: Create) -> Created:
        """Create what is absent. A key that the page names twice counts as existing the second time."""
        with self._step() as now:
            source, page = self._source(write.source), Created()
            seen: set[str] = set()
            made = {new.key for new in write.partitions if steps.is_new(source.partitions.get(new.key), write.op)}
            waits = {new.key: unfinished(new, source.status_of) for new in write.partitions if new.key in made}
            for new in write.partitions:
                existing = source.partitions.get(new.key)
                waiting = waits.get(new.key, ())
                fresh = steps.create(existing, new, write.source, write.op, now, source.ordinal, waiting, write.branch)
                if fresh is not None:
                    source.put_child(fresh)
                    source.ordinal += 1
                mine = source.partitions[new.key].create_op == write.op and new.key not in seen
                seen.add(new.key)
                page += Created(created=1) if mine else steps.existing(source.partitions[new.key], new)
            return page

    def acquire_next(self, write: AcquireNext) -> Partition | None:
        """Acquire the first claimable partition; ``None`` when there is none."""
        with self._step() as now:
            return self._acquire_next(write, now)

    def _acquire_next(self, write: AcquireNext, now: datetime) -> Partition | None:
        source = self._source(write.source)
        if source.pause(now).paused:
            return None
        if write.key is not None:
            partition = source.partitions.get(write.key)
            after = partition and steps.step(write, partition, now)
            return after and source.step(after, ACQUIRE.records(write), now)
        with closing(source.order.in_order(_NEW_FIRST if write.new_first else _SEED_ORDER, now)) as due:
            for partition in due:
                if (after := steps.step(write, partition, now)) is not None:
                    return source.step(after, ACQUIRE.records(write), now)
        return None

    def acquire(self, write: KnownAcquisition) -> Answer:
        """Acquire one known partition."""
        return self._one_step(write)

    def write(self, write: FencedWrite) -> Answer:
        """Apply an owner's write under its fence."""
        return self._one_step(write)

    def _one_step(self, write: KnownAcquisition | FencedWrite | Act | Place | Refresh) -> Answer:
        with self._step() as now:
            return self._apply(write, now)

    def _apply(self, write: KnownAcquisition | FencedWrite | Act | Place | Refresh, now: datetime) -> Answer:
        source = self._source(write.source)
        partition = source.partitions.get(write.key)
        rule = RULES[type(write)]
        held_back = rule.held_back and source.pause(now).paused
        after = steps.step(write, partition, now) if partition and not held_back else None
        if after is None:
            return Answer(False, partition)
        source.step(after, rule.records(write), now)
        awaited = partition and partition.awaited_op and after.status is PartitionStatus.COMPLETED
        released = source.release_children(after, now) if awaited else 0
        return Answer(True, after, after.ownership_timeout, after.wanted, released)

    def complete_and_acquire(self, end: End, following: AcquireNext) -> FusedAnswer:
        """End one tenure and start the next under one hold of the lock; the second half only if the first applied."""
        with self._step() as now:
            ended = self._apply(end, now)
            return FusedAnswer(ended, self._acquire_next(following, now) if ended.applied else None)

    def sweep(self, write: Sweep) -> Swept:
        """Reopen and reclaim what is due, at most ``limit`` of each."""
        with self._step() as now:
            source = self._source(write.source)
            with closing(source.order.reopening(now)) as due:
                ready = [steps.reopen(write, p, now) for p in islice(due, write.limit)]
                reopened = [source.put(after) for after in ready if after]
            with closing(source.order.expired(now)) as due:
                freed = [steps.reclaim(write, p, now) for p in islice(due, write.limit)]
                ended = [source.step(after, RECLAIM.records(write), now) for after in freed if after]
            parked = sum(partition.parked for partition in ended)
            return Swept(len(reopened), len(ended) - parked, parked)

    def act(self, write: Act) -> Answer:
        """Carry out a person's action, and audit it."""
        return self._one_step(write)

    def place(self, write: Place) -> Answer:
        """Give a new partition the life that it had in another store."""
        return self._one_step(write)

    def refresh(self, write: Refresh) -> Answer:
        """Give a partition that was reset, and that nobody has held since, another payload."""
        return self._one_step(write)

    def set_pause(self, write: SetPause) -> PauseAnswer:
        """Pause or resume a source, and audit it."""
        with self._step() as now:
            source = self._source(write.source)
            return PauseAnswer(source.set_pause(write, now), source.pause(now))

    def pause(self, source: str) -> Pause:
        """Return whether a source is paused, and who has said so."""
        with self._step() as now:
            return self._source(source).pause(now)

    def holds_back(self, source: str) -> bool:
        """Return whether a source is paused."""
        return self.pause(source).paused

    def get(self, source: str, key: str) -> Partition | None:
        """Return one partition, tombstones included."""
        with self._step():
            return self._source(source).partitions.get(key)

    def find_nonce(self, source: str, nonce: str) -> Partition | None:
        """Return the ASSIGNED partition whose fence has this nonce."""
        with self._step():
            return next((partition for partition in self._source(source).held() if partition.nonce == nonce), None)

    def find_task(self, source: str, task: str) -> Sequence[Partition]:
        """Return the ASSIGNED partitions held by any try of this task identity."""
        with self._step():
            return [p for p in self._source(source).held() if p.owner_task == task]

    def page(
        self,
        source: str,
        status: PartitionStatus | None,
        after: str | None,
        limit: int,
        *,
        parked: bool | None = None,
    ) -> Sequence[Partition]:
        """Return up to ``limit`` partitions with a key above ``after`` in byte order, tombstones left out."""
        with self._step():
            stored = self._source(source)
            above = (stored.partitions[key] for key in stored.keys.above(after))
            wanted = (p for p in above if not p.deleted and (status in (None, p.status) or parked))
            return list(islice((p for p in wanted if parked in (None, p.parked)), limit))

    def children(self, source: str, parent: str, after: str | None, limit: int) -> Sequence[Partition]:
        """Return partitions that have ``parent`` among their parents, by key in byte order."""
        with self._step():
            stored = self._source(source)
            named = sorted(key for key in stored.children.get(parent, ()) if after is None or key > after)
            found = (stored.partitions[key] for key in named)
            return list(islice((child for child in found if parent in child.parents), limit))

    def claimable(self, source: str, limit: int) -> Sequence[tuple[str, int]]:
        """Return key and token of what can be acquired now, in the acquisition order."""
        with self._step() as now, closing(self._source(source).order.in_order(_SEED_ORDER, now)) as due:
            return [(partition.key, partition.token) for partition in islice(due, limit)]

    def counts(self, source: str) -> dict[PartitionStatus, int]:
        """Return how many partitions are in each status, all four named."""
        with self._step():
            return {status: self._source(source).counts[status] for status in PartitionStatus}

    def outlook(self, source: str) -> Outlook:
        """Return what can still happen in the source; it looks at every partition."""
        with self._step() as now:
            stored = self._source(source)
            return outlook_of([p for p in stored.partitions.values() if not p.deleted], stored.pause(now), now)

    def key_ranges(self, source: str, number: int) -> KeyRanges:
        """Return how many partitions of what are where in the keys; it looks at every partition."""
        with self._step() as now:
            stored = self._source(source)
            above = (stored.partitions[key] for key in stored.keys.above(None))
            return ranges_of([each for each in above if not each.deleted], number, now)

    def parked_before(self, source: str, key: str) -> str | None:
        """Return the key of the last parked partition below another one."""
        with self._step():
            parked = (each.key for each in self._source(source).partitions.values() if each.parked and not each.deleted)
            return max((each for each in parked if each.encode() < key.encode()), key=str.encode, default=None)

    def heads(
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
        """Return head records by key in byte order, then by dataset."""
        with self._step():
            stored = self._source(source)
            found = stored.heads_above((after or "", after_dataset), dataset, key)
            return list(islice((head for head in found if head.may_lie_in(within)), limit))

    def history(self, source: str, key: str | None = None, limit: int = 1000) -> Sequence[PastTenure]:
        """Return the newest tenures that have ended, the newest first, of one partition if it is named."""
        with self._step():
            return list(islice(self._source(source).history(key), limit))

    def follow_ups(self, source: str, key: str | None, after: FollowUp | None, limit: int) -> Sequence[FollowUp]:
        """Return notes of what follows endings and parkings, by key in byte order, then by token and operation."""
        with self._step():
            noted = sorted(self._source(source).noted(key), key=place_of)
            return list(islice((one for one in noted if not after or place_of(one) > place_of(after)), limit))

    def clear_follow_up(self, done: FollowUp) -> None:
        """Take a note away."""
        with self._step() as now:
            self._source(done.source).take_away(done, now)

    def forget_follow_up(self, write: Forget) -> None:
        """Take a note away undone, and audit it."""
        with self._step() as now:
            self._source(write.note.source).forget_follow_up(write, now)

    def put_chunks(self, source: str, rows: Sequence[ChunkSums]) -> None:
        """Write sums of chunks over those that are there."""
        with self._step() as now:
            kept = self._source(source).chunks
            kept.update({(row.dataset, row.place): replace(row, updated_at=now) for row in rows})

    def chunks(
        self, source: str, dataset: str | None = None, after: tuple[str, str] | None = None, limit: int = 1000
    ) -> Sequence[ChunkSums]:
        """Return sums by dataset in byte order, then the newest chunk first."""
        with self._step():
            kept = self._source(source).chunks
            wanted = (place for place in sorted(kept) if dataset in (None, place[0]) and (not after or place > after))
            return [kept[place] for place in islice(wanted, limit)]

    def chunk_totals(self, source: str, dataset: str | None = None) -> Sequence[ChunkTotals]:
        """Return what they add up to, by dataset and state."""
        with self._step():
            kept = self._source(source).chunks.values()
            return added_up(row for row in kept if dataset in (None, row.dataset))

    def forget_chunks(self, source: str, dataset: str) -> None:
        """Remove all sums of a dataset."""
        with self._step():
            self._source(source).forget_chunks(dataset)

    def document(self, source: str, name: str) -> Document | None:
        """Return the newest version."""
        with self._step():
            return next(reversed(self._source(source).documents.get(name, [])), None)

    def look(self, source: str, name: str, branch: int | None = None) -> Looked:
        """Return the newest version of a document, the time, and how far a branch is."""
        found, now = self.document(source, name), self.now()
        return Looked(found, now, None if branch is None else self.branch_counts(source, branch))

    def set_document(self, write: SetDocument) -> bool:
        """Write the next version if the newest one is the one seen."""
        with self._step() as now:
            return self._source(write.source).set_document(write, now)

    def document_history(self, source: str, name: str, before: int | None = None, limit: int = 100) -> list[Document]:
        """Return versions, the newest first."""
        with self._step():
            versions = reversed(self._source(source).documents.get(name, []))
            return list(islice((each for each in versions if before is None or each.version < before), limit))

    def documents(self, source: str, limit: int | None = None) -> list[Document]:
        """Return the newest version of each document, by name."""
        with self._step():
            return self._source(source).newest_documents()[:limit]

    def forget_versions(self, source: str, beginning: str, before: datetime) -> int:
        """Remove versions that no longer counted at a moment, and return how many."""
        with self._step():
            return self._source(source).forget_versions(beginning, before)

    def branch_counts(self, source: str, branch: int) -> BranchCounts:
        """Return how far the partitions of a branch are."""
        with self._step():
            return self._source(source).branch_counts(branch)

    def branch_partitions(self, source: str, branch: int, after: str | None, limit: int) -> Sequence[Partition]:
        """Return partitions that run in a branch, by key."""
        with self._step():
            found = self._source(source).in_branch(branch)
            return [each for each in found if after is None or each.key.encode() > after.encode()][:limit]

    def set_interval(self, write: SetInterval) -> bool:
        """Give a head record an interval if it is as it was seen, and audit it."""
        with self._step() as now:
            return self._source(write.source).set_interval(write, now)

    def audit(
        self, source: str, key: str | None, limit: int = AUDITED, before: str | None = None
    ) -> Sequence[dict[str, Any]]:
        """Return the people's actions on a partition, or the newest of a source, oldest first."""
        with self._step():
            return self._source(source).audited(key, min(limit, AUDITED), before)
