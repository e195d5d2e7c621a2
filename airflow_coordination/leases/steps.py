"""What each write does to one partition: the protocol's table as pure functions.

``step(partition, write, now)`` returns the partition after the write, or ``None`` if its condition refuses
it. The in-memory store executes these functions; every other store states the same conditions and effects
in its engine's own language and is compared with them by the conformance kit.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import singledispatch
from typing import Any

from airflow_coordination.leases.clock import to_micros
from airflow_coordination.leases.partition import RING_SIZE, Outcome, Owner, Partition, PartitionStatus, Rank
from airflow_coordination.leases.transitions import Event, allowed
from airflow_coordination.leases.writes import (
    KEEP,
    AcquireHinted,
    AcquireNext,
    Act,
    Action,
    Adopt,
    Begin,
    End,
    NewPartition,
    Renew,
    Retake,
    Save,
    Tenancy,
)

U, A, C, D = PartitionStatus.UNASSIGNED, PartitionStatus.ASSIGNED, PartitionStatus.CLOSED, PartitionStatus.COMPLETED

LOST_LEASES_ERROR = "lost its lease {} times without an ending"


def ring_entry(
    partition: Partition, outcome: Outcome, op: str, now: datetime, status: PartitionStatus, closed_count: int
) -> str:
    """Return the ring's record of the current tenure's ending."""
    parts = (partition.token, partition.nonce, outcome, op, partition.last_op, status, closed_count, to_micros(now))
    return "|".join(str(part) for part in parts)


def _end(
    partition: Partition, outcome: Outcome, op: str, now: datetime, status: PartitionStatus, **changes: Any
) -> Partition:
    """Return the partition with its tenure ended: END(outcome) of the table."""
    closed_count = changes.get("closed_count", partition.closed_count)
    slot = partition.token % RING_SIZE
    entry = ring_entry(partition, outcome, op, now, status, closed_count)
    ring = (*partition.ring[:slot], entry, *partition.ring[slot + 1 :])
    return replace(
        partition,
        status=status,
        ring=ring,
        last_op=op,
        owner=None,
        ownership_timeout=None,
        reopen_at=changes.pop("reopen_at", None),
        confirmed=False,
        updated_at=now,
        **changes,
    )


def counts_as_lost(partition: Partition) -> bool:
    """Return whether losing this tenure counts: only if its owner ever wrote, so that phantoms park nothing."""
    return partition.confirmed or partition.last_op != partition.nonce


def due_at(partition: Partition) -> datetime | None:
    """Return from when on the partition can be acquired, ``None`` = never by itself."""
    if partition.deleted or partition.status is D:
        return None
    return {U: partition.available_at, C: partition.reopen_at, A: partition.ownership_timeout}[partition.status]


def lost_leases_limit(partition: Partition, own: int) -> int:
    """Return how many lost leases park the partition: the limit travels with the lease.

    :param own: the judge's own limit, in force where the lease has none: older code has acquired it.
    """
    return own if partition.max_lost_leases is None else partition.max_lost_leases


def claimable(partition: Partition, now: datetime, max_lost_leases: int) -> bool:
    """Return the table's *claimable*: due by the store's clock; at the last lost lease only a sweep may act."""
    due = due_at(partition)
    if due is None or due > now:
        return False
    return partition.status is not A or partition.lost_leases + 1 < lost_leases_limit(partition, max_lost_leases)


def create(
    existing: Partition | None, new: NewPartition, source: str, op: str, now: datetime, ordinal: int
) -> Partition | None:
    """Return the new partition, ``None`` if it exists. A tombstone gives its token and ring."""
    if existing is not None and not (existing.deleted and existing.create_op != op):
        return None
    fresh = Partition(
        source=source,
        key=new.key,
        status=U,
        payload_text=new.payload_text,
        priority=new.priority,
        ordinal=ordinal,
        available_at=now,
        created_at=now,
        updated_at=now,
        last_op=op,
        create_op=op,
        generation=op,
    )
    if existing is None:
        return fresh
    return replace(fresh, token=existing.token, nonce=existing.nonce, ring=existing.ring)


def _grant(partition: Partition, tenancy: Tenancy, now: datetime) -> Partition:
    return replace(
        partition,
        status=A,
        token=partition.token + 1,
        nonce=tenancy.op,
        last_op=tenancy.op,
        owner=tenancy.owner.text,
        ownership_timeout=now + tenancy.timeout,
        max_lost_leases=tenancy.max_lost_leases,
        reopen_at=None,
        available_at=None,
        confirmed=False,
        updated_at=now,
    )


def _take_over(partition: Partition, tenancy: Tenancy, now: datetime, outcome: Outcome) -> Partition:
    lost = partition.lost_leases + counts_as_lost(partition)
    return _grant(_end(partition, outcome, tenancy.op, now, A, lost_leases=lost), tenancy, now)


def _acquire(partition: Partition, tenancy: Tenancy, now: datetime) -> Partition | None:
    if not claimable(partition, now, tenancy.max_lost_leases):
        return None
    if partition.status is A:
        return _take_over(partition, tenancy, now, Outcome.LOST)
    return _grant(partition, tenancy, now)


@singledispatch
def step(write: Any, partition: Partition, now: datetime) -> Partition | None:
    """Return ``partition`` after ``write``, ``None`` if it is refused."""
    raise TypeError(f"not a write of the protocol: {write!r}")


@step.register
def _(write: AcquireNext, partition: Partition, now: datetime) -> Partition | None:
    return _acquire(partition, write.tenancy, now)


@step.register
def _(write: AcquireHinted, partition: Partition, now: datetime) -> Partition | None:
    return _acquire(partition, write.tenancy, now) if partition.token == write.token else None


@step.register
def _(write: Retake, partition: Partition, now: datetime) -> Partition | None:
    tenancy = write.tenancy
    held = Owner(partition.owner) if partition.owner else None
    if partition.deleted or partition.status is not A or held is None:
        return None
    if (partition.token, partition.last_op) != (write.token, write.last_op):
        return None
    if held.task != tenancy.owner.task or held.try_number >= tenancy.owner.try_number + write.same_try:
        return None
    if partition.lost_leases + 1 >= lost_leases_limit(partition, tenancy.max_lost_leases):
        return None
    return _take_over(partition, tenancy, now, Outcome.RETAKEN)


@step.register
def _(write: Adopt, partition: Partition, now: datetime) -> Partition | None:
    if not partition.held_under(write.fence) or partition.owner is None:
        return None
    if Owner(partition.owner).try_number > write.owner.try_number:
        return None
    return replace(partition, owner=write.owner.text)


def _later(partition: Partition, now: datetime, timeout: timedelta) -> datetime:
    return max(partition.ownership_timeout or now, now + timeout)


@step.register
def _(write: Renew, partition: Partition, now: datetime) -> Partition | None:
    if not partition.held_under(write.fence):
        return None
    return replace(partition, ownership_timeout=_later(partition, now, write.timeout), confirmed=True)


@step.register
def _(write: Begin, partition: Partition, now: datetime) -> Partition | None:
    if not partition.held_under(write.fence) or partition.last_op != write.prev:
        return None
    timeout = _later(partition, now, write.timeout)
    return replace(partition, ownership_timeout=timeout, last_op=write.op, updated_at=now)


@step.register
def _(write: Save, partition: Partition, now: datetime) -> Partition | None:
    if not partition.held_under(write.fence) or partition.last_op != write.prev:
        return None
    return replace(
        partition,
        progress_text=write.progress_text,
        staged=write.staged,
        ownership_timeout=_later(partition, now, write.timeout),
        last_op=write.op,
        updated_at=now,
    )


@step.register
def _(write: End, partition: Partition, now: datetime) -> Partition | None:
    if not partition.held_under(write.fence) or partition.last_op != write.prev:
        return None
    due = None if write.delay is None else now + write.delay
    return _end(
        partition,
        write.outcome,
        write.op,
        now,
        write.status,
        closed_count=write.closed_count,
        failures=write.failures,
        lost_leases=write.lost_leases,
        last_error=write.last_error,
        rank=Rank.NEW,
        reopen_at=due if write.status is C else None,
        available_at=due if write.status is U else None,
        progress_text=partition.progress_text if write.progress is KEEP else write.progress,
        generation=write.generation,
        staged=() if write.clear_staged else partition.staged,
    )


def reclaim(partition: Partition, op: str, now: datetime, max_lost_leases: int) -> Partition | None:
    """Return the partition with its expired lease ended: waiting first in line, or parked at the last lost lease."""
    due = due_at(partition)
    if partition.status is not A or due is None or due > now:
        return None
    counts = counts_as_lost(partition)
    lost = partition.lost_leases + counts
    if counts and lost >= lost_leases_limit(partition, max_lost_leases):
        return _end(partition, Outcome.LOST, op, now, C, lost_leases=lost, last_error=LOST_LEASES_ERROR.format(lost))
    available = partition.ownership_timeout  # the order inside "crashed" is that of the lost leases
    return _end(partition, Outcome.LOST, op, now, U, lost_leases=lost, rank=Rank.CRASHED, available_at=available)


def reopen(partition: Partition, op: str, now: datetime) -> Partition | None:
    """Return a CLOSED partition that is due as UNASSIGNED, ranked "reopened"."""
    due = due_at(partition)
    if partition.status is not C or due is None or due > now:
        return None
    return replace(
        partition, status=U, rank=Rank.REOPENED, available_at=due, reopen_at=None, last_op=op, updated_at=now
    )


def _as_seen(write: Act, partition: Partition) -> bool:
    """Return the condition of people's actions: F as seen for ASSIGNED, otherwise status, token and last op as seen."""
    seen = write.seen
    if partition.deleted or not allowed(Event[write.action.name], partition.status):
        return False
    if seen.status is A:
        return partition.status is A and (partition.token, partition.nonce) == (seen.token, seen.nonce)
    return (partition.status, partition.token, partition.last_op) == (seen.status, seen.token, seen.last_op)


@step.register
def _(write: Act, partition: Partition, now: datetime) -> Partition | None:
    if not _as_seen(write, partition):
        return None
    if write.action is Action.RETRACT:  # a staged block may follow a published one, and would bring it back
        return None if partition.staged else replace(partition, last_op=write.op, updated_at=now)
    parks = write.action is Action.PARK
    after = C if parks else U
    held = partition.status is A
    if held:
        partition = replace(
            _end(partition, Outcome.RELEASED, write.op, now, after), token=partition.token + 1, nonce=write.op
        )
    changes: dict[Action, dict[str, Any]] = {
        Action.RELEASE: {"rank": Rank.NEW},
        Action.REOPEN: {"rank": Rank.REOPENED, "failures": 0, "lost_leases": 0},
        Action.PARK: {},
        Action.RESET: {
            "rank": Rank.NEW,
            "failures": 0,
            "lost_leases": 0,
            "closed_count": 0,
            "last_error": None,
            "progress_text": None,
            "staged": (),
            "generation": write.op,
        },
        Action.DELETE: {"deleted": True, "progress_text": None, "staged": (), "payload_text": None},
    }
    if write.action is Action.DELETE and not held:
        changes[Action.DELETE] |= {"token": partition.token + 1, "nonce": write.op}
    return replace(
        partition,
        status=after,
        reopen_at=None,
        available_at=None if parks or write.action is Action.DELETE else now,
        last_op=write.op,
        updated_at=now,
        **changes[write.action],
    )
