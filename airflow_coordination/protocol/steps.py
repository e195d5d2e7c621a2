"""The reference steps: the rules of the operation table, carried out on plain values, one partition at a time.

The in-memory store executes these steps, a store that has read a partition foretells with them what its write will
make of it, and the conformance kit compares every store with what they say.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from airflow_coordination.protocol import rules
from airflow_coordination.protocol.algebra import PLAIN, Rule
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.refreshing import Outdated
from airflow_coordination.protocol.results import Created
from airflow_coordination.protocol.rules import FOLLOWED, RECLAIM, REOPEN, RULES
from airflow_coordination.protocol.transitions import Event, allowed
from airflow_coordination.protocol.writes import Act, NewPartition, Sweep
from airflow_coordination.values.status import PartitionStatus


def step(write: Any, partition: Partition, now: datetime) -> Partition | None:
    """Return ``partition`` after ``write``, ``None`` if its condition refuses it.

    :raises TypeError: when it is no write to one partition.
    """
    rule = RULES.get(type(write))
    if rule is None:
        raise TypeError(f"not a write of the protocol: {write!r}")
    if isinstance(write, Act) and not possible(write):
        return None
    return _carried_out(rule, write, partition, now)


def possible(write: Act) -> bool:
    """Return whether a person's action can happen to what the person saw."""
    return allowed(Event[write.action.name], write.seen.status)


def reclaim(write: Sweep, partition: Partition, now: datetime) -> Partition | None:
    """Return the partition with its expired lease ended: waiting first in line, or parked at the last lost lease."""
    return _carried_out(RECLAIM, write, partition, now)


def reopen(write: Sweep, partition: Partition, now: datetime) -> Partition | None:
    """Return a CLOSED partition that is due as UNASSIGNED, ranked "reopened"."""
    return _carried_out(REOPEN, write, partition, now)


def followed(done: FollowUp, partition: Partition, now: datetime) -> Partition | None:
    """Return the partition without what was to follow its parking, ``None`` if it is not parked so any more."""
    return _carried_out(FOLLOWED, done, partition, now)


def _carried_out(rule: Rule, write: Any, partition: Partition, now: datetime) -> Partition | None:
    if not rule.condition(PLAIN, partition, write, now):
        return None
    return replace(partition, **rule.changes(PLAIN, partition, write, now))


def claimable(partition: Partition, now: datetime, max_lost_leases: int) -> bool:
    """Return the table's *claimable*: due by the store's clock; at the last lost lease only a sweep may act.

    :param max_lost_leases: in force where the lease has no limit of its own: older code has acquired it.
    """
    return bool(rules.claimable(PLAIN, partition, now, max_lost_leases))


def due_at(partition: Partition) -> datetime | None:
    """Return from when on the partition can be acquired, ``None`` = never by itself."""
    if partition.deleted:
        return None
    return {
        PartitionStatus.UNASSIGNED: partition.available_at,
        PartitionStatus.CLOSED: partition.reopen_at,
        PartitionStatus.ASSIGNED: partition.ownership_timeout,
        PartitionStatus.COMPLETED: None,
    }[partition.status]


def existing(stored: Partition, new: NewPartition) -> Created:
    """Return what a partition counts as that was to be created and is there already."""
    same = (stored.payload_text, stored.priority, stored.parents) == (new.payload_text, new.priority, new.parents)
    was_reset = stored.last_op == stored.generation != stored.create_op
    outdated: tuple[Outdated, ...] = ()
    if was_reset and stored.status is PartitionStatus.UNASSIGNED and stored.payload_text != new.payload_text:
        outdated = (Outdated(new.key, stored.generation, stored.payload_text),)
    return Created(existing=1, changed=() if same else (new.key,), outdated=outdated)


def is_new(existing: Partition | None, op: str) -> bool:
    """Return whether a creation makes a partition: there is none, or the tombstone of one that it has not made."""
    return existing is None or (existing.deleted and existing.create_op != op)


def create(
    existing: Partition | None,
    new: NewPartition,
    source: str,
    op: str,
    now: datetime,
    ordinal: int,
    waits_for: tuple[str, ...] = (),
    branch: int | None = None,
) -> Partition | None:
    """Return the new partition, ``None`` if it exists. A tombstone gives its token and ring.

    :param waits_for: those of its parents that have not finished. While there are any, it has no time from which on it
        could be acquired.
    :param branch: that it runs in.
    """
    if not is_new(existing, op):
        return None
    fresh = Partition(
        source=source,
        key=new.key,
        status=PartitionStatus.UNASSIGNED,
        payload_text=new.payload_text,
        priority=new.priority,
        ordinal=ordinal,
        available_at=None if waits_for else now,
        parents=new.parents,
        waits_for=waits_for,
        created_at=now,
        updated_at=now,
        last_op=op,
        create_op=op,
        generation=op,
        branch=branch,
    )
    if existing is None:
        return fresh
    return replace(fresh, token=existing.token, nonce=existing.nonce, ring=existing.ring)
