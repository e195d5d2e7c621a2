"""A tenure that has ended: one row of a partition's history. Frozen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from airflow_coordination.protocol.partition import Partition, is_stale
from airflow_coordination.protocol.side_writes import TenureEnded
from airflow_coordination.values import accounting as accounts
from airflow_coordination.values.accounting import Accounting, copied
from airflow_coordination.values.fence import RING_SIZE, Ending, Fence, facts_of
from airflow_coordination.values.status import Outcome, PartitionStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTenure:
    """A tenure that has ended: who held a partition, from when until when, how that ended, and what came of it.

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
    :param accounting_text: the partition's totals as it has left them, as they are stored.
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
    accounting_text: str | None = None

    @property
    def accounting(self) -> Accounting | None:
        """What had become of the partition's records when it ended; ``None`` when none were delivered, or unknown.

        :raises InvalidInputError: when it is corrupt in the store.
        """
        return copied(self.accounting_text)

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


class Remembered(NamedTuple):
    """What is enough to make a past tenure of, without progress and blocks; kept for each ending, read seldom."""

    source: str
    key: str
    entry: str
    """The ending as the ring has it."""
    owner: str | None
    owner_details: str | None
    acquired_at: datetime | None
    record: TenureEnded
    accounting_text: str | None = None

    def past_tenure(self) -> PastTenure:
        """Return the tenure."""
        return replace(
            _of_ending(self.source, self.key, Ending.parse(self.entry)),
            owner=self.owner,
            owner_details=self.owner_details,
            acquired_at=self.acquired_at,
            error=self.record.error,
            rows=self.record.rows,
            bytes=self.record.bytes,
            accounting_text=self.accounting_text,
        )


def ended_by(before: Partition, after: Partition, record: TenureEnded) -> Remembered | None:
    """Return the tenure that a step has ended, ``None`` if it has ended none.

    :param before: the partition before the step.
    :param after: the partition after it: its ring says how the tenure ended.
    """
    slot = before.token % RING_SIZE
    entry = after.ring[slot]
    if entry is None or entry is before.ring[slot]:
        return None
    owner, details, since = before.owner, before.owner_details, before.acquired_at
    return Remembered(before.source, before.key, entry, owner, details, since, record, left_by(before, after))


def left_by(before: Partition, after: Partition) -> str | None:
    """Return the totals of the accounting that a tenure has left; a reset begins a generation that has none."""
    return accounts.said(after) or accounts.said(before)


def with_ring(stored: Iterable[PastTenure], partition: Partition | None) -> list[PastTenure]:
    """Return a partition's past tenures, oldest first: those that are stored, and those that only its ring knows.

    Older code ends tenures without a row, DynamoDB writes none, and a history may be off; the ring
    holds the last eight endings. A start that lies before the ending before it, and not only by a moment,
    was left by a tenure that older code has followed: it is unknown, and so is what the driver has said of itself.
    """
    by_fence = {past.fence: past for past in stored}
    for ending in partition.endings if partition else ():
        assert partition is not None, "its ring has endings"
        row = by_fence.get(ending.fence)
        if row is None or row.op != ending.op:
            by_fence[ending.fence] = _of_ending(partition.source, partition.key, ending, row)
    return _with_known_starts(sorted(by_fence.values(), key=lambda past: (past.token, past.ended_at)))


def _of_ending(source: str, key: str, ending: Ending, row: PastTenure | None = None) -> PastTenure:
    """Return the tenure as the ring has it.

    :param row: knows who held it. Of its ending it has taken another for what it was: where that code which writes no
        row has ended it, while an acquirer on PostgreSQL waited to take the expired lease.
    """
    assert ending.at is not None, "the ring holds it"
    assert ending.status_after is not None, "the ring holds it"
    return PastTenure(
        source=source,
        key=key,
        token=ending.fence.token,
        nonce=ending.fence.nonce,
        ended_at=ending.at,
        outcome=ending.outcome,
        op=ending.op,
        status_after=ending.status_after,
        closed_count=ending.closed_count,
        owner=row.owner if row else None,
        owner_details=row.owner_details if row else None,
        acquired_at=row.acquired_at if row else None,
    )


def _with_known_starts(tenures: Sequence[PastTenure]) -> list[PastTenure]:
    known: list[PastTenure] = []
    for past in tenures:
        stale = known and is_stale(past.acquired_at, known[-1].ended_at)
        known.append(replace(past, acquired_at=None, owner_details=None) if stale else past)
    return known
