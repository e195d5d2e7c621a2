"""The counts of a worker: records of accepted steps, and how far behind the newest one it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from airflow_coordination.leases.lease import Chain, Lease
from airflow_coordination.leases.participant import Participant
from airflow_coordination.protocol.metrics import Metric, WorkGauge
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.status import Outcome, PartitionStatus, Rank

_COUNTS: Final[dict[Metric, Callable[[Accounting], int]]] = {
    Metric.RECORDS_IN: lambda counted: counted.read,
    Metric.RECORDS_OUT: lambda counted: counted.delivered_everywhere,
    Metric.RECORDS_DROPPED: lambda counted: sum(counted.dropped.values()),
    Metric.RECORDS_UNROUTED: lambda counted: counted.unrouted,
    Metric.RECORDS_DEAD_LETTERED: lambda counted: counted.dead_lettered,
}
_NONE: Final = Accounting()


def newly_accepted(chain: Chain, counted: Accounting | None) -> dict[Metric, int]:
    """Return what an accepted step adds to the counters, and note in the chain that it was told.

    :param counted: in the whole tenure until this step: what an earlier one has told is not told again.
    """
    if counted is None:
        return {}
    before, chain.told = chain.told or _NONE, counted
    return {metric: max(0, of(counted) - of(before)) for metric, of in _COUNTS.items()}


class Counting:
    """What a coordinator's callers have counted for them, :class:`SourceCoordinator` ``.counting``.

    :param core: whose counters and gauges.
    """

    def __init__(self, core: Participant) -> None:
        self._core = core
        self._behind: dict[str, int] = {}
        self._telling = threading.Lock()

    def count(self, metric: Metric, count: int = 1) -> None:
        """Add to one of this source's counters; for suppliers that count what they do."""
        self._core.count(metric, count)

    def count_acknowledgment_set(self) -> None:
        """Count that a set of records is on its way to its sinks."""
        self._core.count(Metric.SETS_CREATED)

    def count_acknowledgment(self, *, positive: bool, expired: bool, failed: int = 0) -> None:
        """Count what came of a set of records.

        :param positive: each record is where it should be.
        :param expired: it took too long, and was ended.
        :param failed: records that are nowhere they should be; no accepted step will stand for them.
        """
        self._core.count(Metric.SETS_EXPIRED if expired else Metric.SETS_COMPLETED)
        self._core.count(Metric.SETS_POSITIVE if positive else Metric.SETS_NEGATIVE)
        self._core.count(Metric.RECORDS_FAILED, failed)

    def count_records(self, lease: Lease, counted: Accounting | None) -> None:
        """Count the records that an accepted step stands for."""
        for metric, number in newly_accepted(lease.chain, counted).items():
            self._core.count(metric, number)

    def count_acquired(self, lease: Lease) -> Lease:
        """Count an acquisition, and what it has found of the tenure before; return its lease."""
        self._core.count(Metric.ACQUIRED)
        before = lease.partition.ending_at(lease.fence.token - 1)
        if before is not None and before.op == lease.fence.nonce:
            self._core.count(Metric.LOST, before.outcome is Outcome.LOST)
        elif before is not None and before.status_after is PartitionStatus.CLOSED:
            # What a sweep has reopened was counted there, and has its rank.
            self._core.count(Metric.REOPENED, lease.partition.rank is Rank.NEW and before.outcome is Outcome.CLOSED)
        return lease

    def tell_behind(self, key: str, milliseconds: int | None) -> None:
        """Tell the gauge ``millisBehindLatest``: the furthest of all that this process reads (KCL, per shard).

        :param key: the partition's.
        :param milliseconds: how far the reading is behind; 0 at the tip, ``None`` when it is over.
        """
        with self._telling:
            if milliseconds is None:
                self._behind.pop(key, None)
            else:
                self._behind[key] = max(0, milliseconds)
            if self._behind:
                self._core.gauge(WorkGauge.BEHIND, max(self._behind.values()))
