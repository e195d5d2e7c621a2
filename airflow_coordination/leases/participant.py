"""The ground of all parts of a coordinator: its store, its names, its settings, its counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property

from airflow_coordination.leases.acquisition import Acquisition
from airflow_coordination.leases.confirm import Settler
from airflow_coordination.leases.tenures import Tenures
from airflow_coordination.leases.viewing.branches import BranchRules
from airflow_coordination.protocol.beside.parts import FusedSteps
from airflow_coordination.protocol.metrics import CountingMetrics, Gauge, Metric, Metrics, WorkGauge, full_name
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionNotOwnedError, StoreThrottledError
from airflow_coordination.values.fence import Owner
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.names import agreed_prefix, check_key, compose_source
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.times import Clock, Randomness, SystemClock

_NO_LIMIT = 2**31 - 1
"""The global state is never parked: a dead supplier is always replaced (promise L4)."""
_NO_GRACE = timedelta(0)
"""Of suppliers and members: they leave no work half done that they could come back to."""


class Participant:
    """One participant in the coordination of a source, as the parts of its coordinator see it: values, and no calls.

    Made once by :class:`SourceCoordinator`, which says what the parameters are, and never changed.
    """

    def __init__(
        self,
        store: PartitionStore,
        source: str,
        owner: str,
        partition_prefix: str | None,
        settings: Settings,
        metrics: Metrics | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        self.store, self.source, self.settings = store, source, settings
        self.partition_prefix = prefix = agreed_prefix(store.partition_prefix, partition_prefix)
        self.owner = Owner(check_key(owner, "owner"))
        self.metrics = metrics or CountingMetrics()
        self.refused = CountingMetrics()
        """The refusals of this participant's calls, exactly."""
        self.source_id = compose_source(source, prefix, "PARTITION")
        self.global_id = compose_source(source, prefix, "GLOBAL_STATE")
        """The internal source with what the supplier remembers."""
        self.worker_id = compose_source(source, prefix, "WORKER")
        """The internal source with the workers' places."""
        self.clock, self.randomness = clock or SystemClock(), randomness or Randomness()
        self.settler = Settler(store, self.clock, self.randomness, settings.request_deadline, self._unheard)
        self.tenures = Tenures(store, settings, self.settler, self.clock, self.randomness)

    @cached_property
    def branches(self) -> BranchRules:
        """What the branches of the source allow."""
        return BranchRules(self.store, self.settler)

    def acquirer(self, source_id: str, fused: FusedSteps | None = None) -> Acquisition:
        """Return what acquires partitions for this participant: of the source, or of one of the internal ones.

        :param fused: where the store can complete and acquire in one commit.
        """
        internal = dataclasses.replace(self.settings, max_lost_leases=_NO_LIMIT, reassign_grace=_NO_GRACE)
        return Acquisition(
            self.store,
            source_id,
            self.owner,
            self.settings if source_id == self.source_id else internal,
            self.settler,
            self.tenures,
            self.clock,
            self.randomness,
            fused,
        )

    def count(self, metric: Metric, count: int = 1) -> None:
        """Add to one of this source's counters."""
        if count:
            self.metrics.incr(full_name(self.source, metric), count)

    def gauge(self, gauge: Gauge | WorkGauge, value: int) -> None:
        """Tell how many there are, where the metrics have gauges."""
        if (tell := getattr(self.metrics, "gauge", None)) is not None:
            tell(full_name(self.source, gauge), value)

    def _unheard(self, error: CoordinationError) -> None:
        """Count an attempt that came to nothing: an outage is an error and a metric, never "no work" (promise L6)."""
        self.count(Metric.THROTTLED if isinstance(error, StoreThrottledError) else Metric.UNHEARD)

    @contextmanager
    def watched(self, update_errors: Metric | None) -> Iterator[None]:
        """Count what an owner's call raises: the coordinator's own counts of refusals are exact."""
        try:
            yield
        except PartitionNotOwnedError:
            self.refused.incr("refused")
            self.count(Metric.NOT_OWNED)
            raise
        except PartitionNotFoundError as error:
            if error.deleted_by is not None:
                self.refused.incr("refused")
            self.count(Metric.NOT_FOUND)
            raise
        except CoordinationError:
            if update_errors is not None:
                self.count(update_errors)
            raise
