"""A tenure that has ended: one row of a partition's history. Frozen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from airflow_coordination.leases.fence import Ending, Fence
from airflow_coordination.leases.owner_details import facts_of
from airflow_coordination.leases.partition import Partition, is_stale
from airflow_coordination.leases.records import TenureEnded
from airflow_coordination.leases.status import Outcome, PartitionStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTenure:
    """Who held a partition, from when until when, how that ended, and what came of it.

    Times are the store's, timezone-aware, in UTC.

    :param source: the stored source identifier.
    :param key: the partition key.
    :param token: of the tenure's fence.
    :param nonce: of the tenure's fence.
    :param ended_at: when it ended.
    :param outcome: how it ended.
    :param op: operation id of the write that ended it.
    :param status_after: the partition's status after it.
    :param closed_count: the partition's ``closedCount`` after it.
    :param owner: who held it; ``None`` when only the ring of the partition still knows of the tenure.
    :param owner_details: what its driver said of itself, as it is stored; see :attr:`owner_facts`.
    :param acquired_at: since when it was held; ``None`` when that is unknown.
    :param error: why it failed, at most 500 characters.
    :param rows: rows that it has published.
    :param bytes: bytes that it has published.
    """

    source: str
    key: str
    token: int
    nonce: str
    ended_at: datetime
    outcome: Outcome
    op: str
    status_after: PartitionStatus
    closed_count: int
    owner: str | None = None
    owner_details: str | None = None
    acquired_at: datetime | None = None
    error: str | None = None
    rows: int = 0
    bytes: int = 0

    @property
    def fence(self) -> Fence:
        """The tenure's fence."""
        return Fence(self.token, self.nonce)

    @property
    def owner_facts(self) -> Mapping[str, Any]:
        """What its driver said of itself, such as its Spark application; empty when nothing."""
        return facts_of(self.owner_details)

    @property
    def lasted(self) -> timedelta | None:
        """How long it was held, ``None`` when that is unknown."""
        return None if self.acquired_at is None else self.ended_at - self.acquired_at


def ended_by(before: Partition, after: Partition, record: TenureEnded) -> PastTenure | None:
    """Return the tenure that a step has ended, ``None`` if it has ended none.

    :param before: the partition before the step.
    :param after: the partition after it: its ring says how the tenure ended.
    """
    fence = before.fence
    ending = after.ending_of(fence) if fence is not None and before.status is PartitionStatus.ASSIGNED else None
    if ending is None:
        return None
    return replace(
        _from_ring(before, ending),
        owner=before.owner,
        owner_details=before.owner_details,
        acquired_at=before.acquired_at,
        error=record.error,
        rows=record.rows,
        bytes=record.bytes,
    )


def with_ring(stored: Iterable[PastTenure], partition: Partition | None) -> list[PastTenure]:
    """Return a partition's past tenures, oldest first: those that are stored, and those that only its ring knows.

    Older code ends tenures without a row, DynamoDB writes rows after the ending, and a history may be off; the ring
    holds the last eight endings in any case. A start that lies before the ending before it, and not only by a moment,
    was left by a tenure that older code has followed: it is unknown, and so is what the driver has said of itself.
    """
    by_fence = {past.fence: past for past in stored}
    for ending in partition.endings if partition else ():
        if partition is not None and ending.fence not in by_fence:
            by_fence[ending.fence] = _from_ring(partition, ending)
    return _with_known_starts(sorted(by_fence.values(), key=lambda past: (past.token, past.ended_at)))


def _from_ring(partition: Partition, ending: Ending) -> PastTenure:
    assert ending.at is not None, "the ring holds it"
    assert ending.status_after is not None, "the ring holds it"
    return PastTenure(
        source=partition.source,
        key=partition.key,
        token=ending.fence.token,
        nonce=ending.fence.nonce,
        ended_at=ending.at,
        outcome=ending.outcome,
        op=ending.op,
        status_after=ending.status_after,
        closed_count=ending.closed_count,
    )


def _with_known_starts(tenures: Sequence[PastTenure]) -> list[PastTenure]:
    known: list[PastTenure] = []
    for past in tenures:
        stale = known and is_stale(past.acquired_at, known[-1].ended_at)
        known.append(replace(past, acquired_at=None, owner_details=None) if stale else past)
    return known
