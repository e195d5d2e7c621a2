"""The duty ``collectStats``: what there is in all sources, as metrics; nothing is changed."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from airflow_coordination.duties.groups.round import Ran, Round
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.values.status import PartitionStatus


class CollectStats:
    """Counts partitions by status, and chunks by what compaction makes of them, as its last plan has left the sums.

    Source: Druid, ``CollectSegmentAndServerStats``.
    """

    name: ClassVar[str] = "collectStats"

    def run(self, round: Round) -> Ran:
        """Count; two requests for each source, whatever it has."""
        counts = dict.fromkeys((f"partition/{status.lower()}/count" for status in PartitionStatus), 0)
        counts |= {"interval/count": 0, "interval/bytes": 0}
        for coordinator in round.sources:
            for metric, number in _of(coordinator).items():
                counts[metric] = counts.get(metric, 0) + number
        there = sum(counts[f"partition/{status.lower()}/count"] for status in PartitionStatus)
        return Ran(said=f"{len(round.sources)} source(s) with {there} partition(s)", counts=counts, idle=True)


def _of(coordinator: SourceCoordinator) -> Counter[str]:
    found = Counter({f"partition/{status.lower()}/count": n for status, n in coordinator.counts().items()})
    for totals in coordinator.looking.chunks.totals():
        found["interval/count"] += totals.chunks
        found["interval/bytes"] += totals.bytes_now or 0
        found[f"interval/{totals.state.replace(' ', '_')}/count"] += totals.chunks
    return found
