"""A short way to say the protocol's writes, one store call each."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest

from airflow_coordination.protocol.beside.parts import (
    Branches,
    Chunks,
    Documents,
    Enabling,
    Ended,
    FollowUps,
    FusedSteps,
    History,
    Pauses,
    Ranges,
    parts_of,
)
from airflow_coordination.protocol.partition import Partition, PartitionIdentifier
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Answer, Created, HeadRecord, Swept
from airflow_coordination.protocol.writes import (
    KEEP,
    AcquireHinted,
    AcquireNext,
    Act,
    Action,
    Adopt,
    Ask,
    Begin,
    Create,
    End,
    Keep,
    NewPartition,
    Renew,
    Retake,
    Save,
    SetPause,
    Steal,
    Sweep,
    Tenancy,
)
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values import accounting
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.documents import encode_payload, encode_progress
from airflow_coordination.values.fence import Fence, Owner
from airflow_coordination.values.status import Outcome, PartitionStatus
from airflow_coordination.values.times import Randomness

SOURCE = "flights|PARTITION"
MINUTE = timedelta(minutes=1)
TIMEOUT = 10 * MINUTE
MAX_LOST = 5
Part = TypeVar("Part")


def owner(task: str = "process", try_number: int = 1, host: str = "host") -> Owner:
    """Return an Airflow task as an owner."""
    return Owner.of_task(host, "flights", "scheduled__1", task, 3, try_number)


def _or_skip(part: Part | None, otherwise: str) -> Part:
    if part is None:
        pytest.skip(f"this store {otherwise}")
    return part


class Workbench:
    """Sends writes to one source of a store.

    :param store: the store that is tested.
    :param clock: the clock it was made with.
    :param source: the stored source identifier.
    """

    def __init__(self, store: PartitionStore, clock: FakeClock, source: str = SOURCE) -> None:
        self.store, self.clock, self.source = store, clock, source
        self._randomness = Randomness(random.Random(0))

    @property
    def fused(self) -> FusedSteps:
        """The store's part of that name; a test that asks for one that the store has not is skipped, here and below."""
        return _or_skip(parts_of(self.store).fused, "has no fused step")

    @property
    def pauses(self) -> Pauses:
        return _or_skip(parts_of(self.store).pauses, "knows of no pauses")

    @property
    def history(self) -> History:
        return _or_skip(parts_of(self.store).history, "keeps no history")

    @property
    def follow_ups(self) -> FollowUps:
        return _or_skip(parts_of(self.store).follow_ups, "keeps no follow-ups")

    @property
    def ranges(self) -> Ranges:
        return _or_skip(parts_of(self.store).ranges, "counts no ranges of keys")

    @property
    def chunks(self) -> Chunks:
        return _or_skip(parts_of(self.store).chunks, "keeps no sums of chunks")

    @property
    def ended(self) -> Ended:
        return _or_skip(parts_of(self.store).ended, "keeps no sums of what ended")

    @property
    def documents(self) -> Documents:
        return _or_skip(parts_of(self.store).documents, "keeps no documents")

    @property
    def branches(self) -> Branches:
        return _or_skip(parts_of(self.store).branches, "knows of no branches")

    @property
    def enabling(self) -> Enabling:
        return _or_skip(parts_of(self.store).enabling, "keeps nobody out")

    def op(self) -> str:
        """Return a fresh operation id."""
        return self._randomness.op_id()

    def create(
        self, *partitions: str | PartitionIdentifier, op: str | None = None, branch: int | None = None
    ) -> Created:
        """Create partitions as one page, in a branch if one is named."""
        identifiers = (PartitionIdentifier(p) if isinstance(p, str) else p for p in partitions)
        page = tuple(
            NewPartition(
                key=i.key, payload_text=encode_payload(i.payload), priority=i.priority, parents=tuple(i.parents)
            )
            for i in identifiers
        )
        return self.store.create(Create(source=self.source, op=op or self.op(), partitions=page, branch=branch))

    def pause(self, by: str = "ana", why: str = "because", lasts: timedelta | None = None) -> None:
        """Pause the source, as a person who has just looked."""
        assert self._set_pause(True, by, why, lasts)

    def resume(self, by: str = "ana", why: str = "because") -> None:
        """Resume the source."""
        assert self._set_pause(False, by, why)

    def _set_pause(self, paused: bool, by: str, why: str, lasts: timedelta | None = None) -> bool:
        seen = self.pauses.pause(self.source).op
        return self.pauses.set_pause(
            SetPause(source=self.source, op=self.op(), paused=paused, seen=seen, by=by, why=why, lasts=lasts)
        ).applied

    def get(self, key: str) -> Partition:
        """Return a partition that must be there, tombstones included."""
        found = self.store.get(self.source, key)
        assert found is not None, f"partition {key!r} is not in the store"
        return found

    def tenancy(
        self, by: Owner | None = None, max_lost_leases: int = MAX_LOST, timeout: timedelta = TIMEOUT
    ) -> Tenancy:
        """Return the start of a tenure under a fresh nonce."""
        return Tenancy(op=self.op(), owner=by or owner(), timeout=timeout, max_lost_leases=max_lost_leases)

    def next(self, key: str | None = None, *, new_first: bool = False, **tenancy: Any) -> Partition | None:
        """Acquire what is first, or a bare key."""
        write = AcquireNext(source=self.source, tenancy=self.tenancy(**tenancy), new_first=new_first, key=key)
        return self.store.acquire_next(write)

    def acquire(self, key: str | None = None, **options: Any) -> Partition:
        """Acquire what must be there to be acquired."""
        found = self.next(key, **options)
        assert found is not None, f"nothing was acquired ({key or 'by order'})"
        return found

    def new(self, key: str = "k", **tenancy: Any) -> Partition:
        """Create one partition and acquire it."""
        self.create(key)
        return self.acquire(key, **tenancy)

    def hinted(self, key: str, token: int, **tenancy: Any) -> Answer:
        """Acquire by a hint."""
        return self.store.acquire(
            AcquireHinted(source=self.source, key=key, token=token, tenancy=self.tenancy(**tenancy))
        )

    def retake(self, seen: Partition, *, same_try: bool = False, **tenancy: Any) -> Answer:
        """Take over from an earlier try of the same task."""
        return self.store.acquire(
            Retake(
                source=self.source,
                key=seen.key,
                token=seen.token,
                last_op=seen.last_op,
                tenancy=self.tenancy(**tenancy),
                same_try=same_try,
            )
        )

    def ask(self, held: Partition, by: Owner, patience: timedelta = MINUTE) -> Answer:
        """Ask for a lease, as another worker."""
        write = Ask(source=self.source, key=held.key, fence=fence(held), by=by.text, patience=patience)
        return self.store.write(write)

    def stealing(self, seen: Partition, **tenancy: Any) -> Steal:
        """Return the theft of a lease, without sending it."""
        return Steal(source=self.source, key=seen.key, fence=fence(seen), tenancy=self.tenancy(**tenancy))

    def steal(self, seen: Partition, **tenancy: Any) -> Answer:
        """Take a lease that was asked for."""
        return self.store.acquire(self.stealing(seen, **tenancy))

    def adopt(self, held: Partition, by: Owner) -> Answer:
        """Watch over a running tenure as a later try."""
        return self.store.write(Adopt(source=self.source, key=held.key, fence=fence(held), owner=by))

    def renew(self, held: Partition, timeout: timedelta = TIMEOUT) -> Answer:
        """Renew."""
        return self.store.write(Renew(source=self.source, key=held.key, fence=fence(held), timeout=timeout))

    def begin(
        self,
        held: Partition,
        op: str | None = None,
        timeout: timedelta = TIMEOUT,
        owner_details: str | None = None,
    ) -> Answer:
        """Send a driver's first write."""
        return self.store.write(
            Begin(
                source=self.source,
                key=held.key,
                fence=fence(held),
                op=op or self.op(),
                timeout=timeout,
                owner_details=owner_details,
            )
        )

    def saving(self, held: Partition, state: object, *blocks: Block, timeout: timedelta = TIMEOUT) -> Save:
        """Return a save, without sending it."""
        return Save(
            source=self.source,
            key=held.key,
            fence=fence(held),
            op=self.op(),
            prev=held.last_op,
            progress_text=encode_progress(state),
            staged=(*held.staged, *blocks),
            timeout=timeout,
        )

    def save(self, held: Partition, state: object, *blocks: Block, timeout: timedelta = TIMEOUT) -> Partition:
        """Save, and return the partition after it."""
        assert self.store.write(self.saving(held, state, *blocks, timeout=timeout)).applied, "the save was refused"
        return self.get(held.key)

    def ending(self, held: Partition, outcome: Outcome, status: PartitionStatus, **changes: Any) -> End:
        """Return an ending, without sending it; what ``changes`` does not name is kept."""
        kept: dict[str, Any] = {
            "closed_count": held.closed_count,
            "failures": held.failures,
            "lost_leases": held.lost_leases,
            "last_error": held.last_error,
            "delay": None,
            "progress": KEEP,
            "generation": held.generation,
            "clear_staged": False,
            "kept_accounting": accounting.said(held),
        }
        where: dict[str, Any] = {"source": self.source, "key": held.key, "fence": fence(held), "prev": held.last_op}
        return End(op=self.op(), outcome=outcome, status=status, **where, **(kept | changes))

    def completing(self, held: Partition, *heads: HeadRecord) -> End:
        """Return a completion, without sending it."""
        return self.ending(
            held,
            Outcome.COMPLETED,
            PartitionStatus.COMPLETED,
            failures=0,
            lost_leases=0,
            clear_staged=True,
            heads=heads,
        )

    def complete(self, held: Partition, *heads: HeadRecord) -> Answer:
        """Complete."""
        return self.store.write(self.completing(held, *heads))

    def close(
        self, held: Partition, reopen_after: timedelta | None = MINUTE, progress: str | Keep | None = None
    ) -> Answer:
        """Close; ``None`` parks."""
        end = self.ending(
            held,
            Outcome.CLOSED,
            PartitionStatus.CLOSED,
            closed_count=held.closed_count + 1,
            failures=0,
            lost_leases=0,
            delay=reopen_after,
            progress=progress,
            clear_staged=True,
        )
        return self.store.write(end)

    def fail(self, held: Partition, delay: timedelta | None = timedelta(0), error: str = "boom") -> Answer:
        """Fail; a delay of ``None`` parks."""
        status = PartitionStatus.UNASSIGNED if delay is not None else PartitionStatus.CLOSED
        failures = held.failures + 1
        return self.store.write(
            self.ending(held, Outcome.FAILED, status, failures=failures, last_error=error, delay=delay)
        )

    def give_up(self, held: Partition, delay: timedelta = timedelta(0)) -> Answer:
        """Give up."""
        return self.store.write(self.ending(held, Outcome.GIVEN_UP, PartitionStatus.UNASSIGNED, delay=delay))

    def hand_over(self, held: Partition) -> Answer:
        """Give up what another worker has asked for."""
        write = self.ending(held, Outcome.HANDED_OVER, PartitionStatus.UNASSIGNED, delay=timedelta(0))
        return self.store.write(write)

    def ask_and_steal(self, held: Partition) -> Answer:
        """Ask for a lease, and take it as soon as that may be."""
        thief = owner("thief")
        self.ask(held, thief, timedelta(microseconds=1))
        self.clock.advance(timedelta(microseconds=1))
        return self.steal(held, by=thief)

    def sweep(self, limit: int = 1000, max_lost_leases: int = MAX_LOST) -> Swept:
        """Reopen and reclaim what is due."""
        return self.store.sweep(Sweep(source=self.source, op=self.op(), limit=limit, max_lost_leases=max_lost_leases))

    def acting(self, action: Action, seen: Partition, **more: Any) -> Act:
        """Return a person's action, without sending it."""
        said = {"source": self.source, "key": seen.key, "op": self.op(), "by": "ana", "why": "a test", **more}
        return Act(action=action, seen=seen, **said)

    def act(self, action: Action, key: str, **more: Any) -> Partition:
        """Act on a partition as it is now, and return it."""
        answer = self.store.act(self.acting(action, self.get(key), **more))
        assert answer.applied, f"{action} was refused"
        assert answer.partition == self.get(key), f"the answer to {action} is not what is stored"
        return self.get(key)

    def bring(self, key: str, status: PartitionStatus) -> Partition:
        """Create ``key`` and lead it into ``status``."""
        self.create(key)
        if status is not PartitionStatus.UNASSIGNED:
            held = self.acquire(key)
            if status is PartitionStatus.CLOSED:
                self.close(held)
            elif status is PartitionStatus.COMPLETED:
                self.complete(held)
        return self.get(key)

    def drained(self, **options: Any) -> list[str]:
        """Acquire and complete everything; return the keys in the order they came."""
        keys: list[str] = []
        while (held := self.next(**options)) is not None:
            assert held.key not in keys, f"{held.key!r} came twice"
            keys.append(held.key)
            self.complete(held)
        return keys

    def keys(self, partitions: Iterable[Partition]) -> list[str]:
        """Return the partitions' keys."""
        return [partition.key for partition in partitions]

    def expire(self) -> datetime:
        """Let every lease end, and return the time after."""
        return self.clock.advance(TIMEOUT)


def fence(held: Partition) -> Fence:
    """Return the fence of a partition that has one."""
    assert held.fence is not None, f"{held.key!r} was never acquired"
    return held.fence


def block(name: str, dataset: str = "clean", rows: int = 10, **options: Any) -> Block:
    """Return a block whose digest is its name."""
    return Block(dataset, f"/out/{name}", name, rows, 100 * rows, **options)


def head(held: Partition, *blocks: Block, op: str = "", dataset: str = "clean") -> HeadRecord:
    """Return the head record that an ending of ``held`` publishes."""
    return HeadRecord(
        source=held.source,
        dataset=dataset,
        key=held.key,
        blocks=blocks,
        rows=sum(b.rows for b in blocks),
        bytes=sum(b.bytes for b in blocks),
        generation=held.generation,
        op=op,
        token=held.token,
    )


def without_time(record: HeadRecord) -> HeadRecord:
    """Return ``record`` without the time the store gave it."""
    return replace(record, published_at=None)
