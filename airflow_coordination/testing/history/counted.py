"""A coordinator whose counts can be compared with a history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import ClassVar

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.metrics import CountingMetrics, Metric
from airflow_coordination.values.errors import PartitionNotOwnedError
from airflow_coordination.values.input_errors import CoordinationError


class CountedCoordinator(SourceCoordinator):
    """The coordinator as it is; it knows which of its refusals no history has: those of a supplier's heartbeat."""

    beats: ClassVar[type[Heartbeat]] = Heartbeat
    """What keeps its leases alive."""
    unrecorded_refusals = 0

    def heartbeat(
        self,
        lease: Lease,
        on_lost: Callable[[CoordinationError], object] = lambda error: None,
        progress: Callable[[], object] | None = None,
    ) -> Heartbeat:
        """Return a context manager that keeps ``lease`` alive."""
        return self.beats(self._beat, lease, on_lost, self.settings, progress, self._clock, self._randomness)

    def _beat(self, lease: Lease) -> Lease:
        try:
            return self.renew(lease)
        except PartitionNotOwnedError:
            self.unrecorded_refusals += 1
            raise

    def short_counts(self) -> Counter[str]:
        """Return what was counted, by the metrics' short names, as far as histories have it."""
        assert isinstance(self.metrics, CountingMetrics)
        counts = Counter({name.rpartition("_")[2]: count for name, count in self.metrics.counts.items()})
        counts[Metric.NOT_OWNED] -= self.unrecorded_refusals
        return counts
