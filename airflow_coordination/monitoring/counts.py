"""Counts of partitions in one vocabulary: docs/reference/glossary.md, *Counts*. Each is in one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from airflow_coordination.protocol.results import Outlook
from airflow_coordination.values.status import PartitionStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """A source's partitions.

    :param claimable: can be acquired now, and nobody's lease on them has run out: new, reopened, or due.
    :param held: by an owner under a lease that lasts; on DynamoDB expired ones, too, that were not looked at.
    :param expired: their lease has ended without a word; they can be acquired, too. On DynamoDB of those that were
        looked at (:func:`told_apart`), because counting them is dear.
    :param delayed: wait for a time that has not come.
    :param blocked: wait for parents.
    :param parked: wait for a person.
    :param completed: done.
    """

    claimable: int
    held: int
    expired: int
    delayed: int
    blocked: int
    parked: int
    completed: int


def foreseen(outlook: Outlook) -> Counts:
    """Return a source's partitions by what they are, from one look alone; on DynamoDB up to 1 claimable is counted."""
    return Counts(
        claimable=max(0, outlook.claimable - outlook.expired),
        held=outlook.assigned,
        expired=outlook.expired,
        delayed=outlook.waiting,
        blocked=outlook.blocked,
        parked=outlook.parked,
        completed=outlook.completed,
    )


def counted(counts: Mapping[PartitionStatus, int], outlook: Outlook) -> Counts:
    """Return a source's partitions by what they are.

    What is claimable is the rest, because a store for which counting is dear counts it up to 1 only, and what is held
    up to 1,000. Both were read one after the other, so that on a busy source a number may be off by what has moved.

    :param counts: by status.
    :param outlook: what can still happen.
    """
    seen = foreseen(outlook)
    waiting = counts[PartitionStatus.UNASSIGNED] + counts[PartitionStatus.CLOSED]
    return replace(
        seen,
        claimable=max(0, waiting - seen.delayed - seen.blocked - seen.parked),
        held=max(0, counts[PartitionStatus.ASSIGNED] - seen.expired),
        completed=counts[PartitionStatus.COMPLETED],
    )


def told_apart(counts: Counts, expired: int) -> Counts:
    """Return counts in which what has expired is not held, on a store that does not count it, too.

    :param expired: of how many leases that were looked at this was seen.
    """
    more = max(0, min(expired, counts.held + counts.expired) - counts.expired)
    return replace(counts, held=counts.held - more, expired=counts.expired + more)
