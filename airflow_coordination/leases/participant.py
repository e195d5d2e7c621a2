"""What every part of a coordinator has in common: its store, its names, its settings, its counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from airflow_coordination.leases.acquisition import Acquisition
from airflow_coordination.leases.confirm import Settler
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.tenures import Tenures
from airflow_coordination.protocol.metrics import CountingMetrics, Gauge, Metric, Metrics, WorkGauge, full_name
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionNotOwnedError, StoreThrottledError
from airflow_coordination.values.fence import Owner
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.names import agreed_prefix, check_key, compose_source
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.times import Clock, Randomness, SystemClock

_SETTINGS = Settings()
_NO_LIMIT = 2**31 - 1
"""The global state is never parked: a dead supplier is always replaced (promise L4)."""


class Participant:
    """One participant in the coordination of a source; see :class:`SourceCoordinator` for the parameters."""

    def __init__(
        self,
        store: PartitionStore,
        source: str,
        owner: str,
        partition_prefix: str | None = None,
        ownership_timeout: timedelta | None = None,
        max_closed_count: int | None = None,
        max_failures: int | None = None,
        max_lost_leases: int | None = None,
        *,
        settings: Settings | None = None,
        metrics: Metrics | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        given = {
            "ownership_timeout": ownership_timeout,
            "max_closed_count": max_closed_count,
            "max_failures": max_failures,
            "max_lost_leases": max_lost_leases,
        }
        named = {name: value for name, value in given.items() if value is not None}
        self.settings = dataclasses.replace(settings or _SETTINGS, **named)  # type: ignore[arg-type]
        self.store, self.source = store, source
        self.partition_prefix = prefix = agreed_prefix(store.partition_prefix, partition_prefix)
        self.owner = Owner(check_key(owner, "owner"))
        self.metrics = metrics or CountingMetrics()
        self._refusals = CountingMetrics()
        self._source_id = compose_source(source, prefix, "PARTITION")
        self._global_id = compose_source(source, prefix, "GLOBAL_STATE")
        self._worker_id = compose_source(source, prefix, "WORKER")
        self._clock, self._randomness = clock or SystemClock(), randomness or Randomness()
        self._settler = Settler(store, self._clock, self._randomness, self.settings.request_deadline, self._unheard)
        self._tenures = Tenures(store, self.settings, self._settler, self._clock, self._randomness)
        self._acquisition = self._acquirer(self._source_id)
        self._registered = False

    @property
    def refusals(self) -> int:
        """How many calls of this coordinator were refused because their fence was no longer the current one (exact)."""
        return self._refusals.counts.get("refused", 0)

    def renew(self, lease: Lease) -> Lease:
        """Hold the lease for another ownership timeout from now.

        :raises PartitionNotOwnedError: when it is over: stop the work.
        """
        with self._watched(None):
            return self._tenures.renew(lease)

    def heartbeat(
        self,
        lease: Lease,
        on_lost: Callable[[CoordinationError], object] = lambda error: None,
        progress: Callable[[], object] | None = None,
    ) -> Heartbeat:
        """Return a context manager that keeps ``lease`` alive in a thread of its own; see :class:`Heartbeat`."""
        return Heartbeat(self.renew, lease, on_lost, self.settings, progress, self._clock, self._randomness)

    def _acquirer(self, source_id: str) -> Acquisition:
        never_parked = dataclasses.replace(self.settings, max_lost_leases=_NO_LIMIT)
        return Acquisition(
            self.store,
            source_id,
            self.owner,
            self.settings if source_id == self._source_id else never_parked,
            self._settler,
            self._tenures,
            self._clock,
            self._randomness,
        )

    def _count(self, metric: Metric, count: int = 1) -> None:
        if count:
            self.metrics.incr(full_name(self.source, metric), count)

    def _gauge(self, gauge: Gauge | WorkGauge, value: int) -> None:
        """Tell how many there are, where the metrics have gauges."""
        if (tell := getattr(self.metrics, "gauge", None)) is not None:
            tell(full_name(self.source, gauge), value)

    def _unheard(self, error: CoordinationError) -> None:
        """Count an attempt that came to nothing: an outage is an error and a metric, never "no work" (promise L6)."""
        self._count(Metric.THROTTLED if isinstance(error, StoreThrottledError) else Metric.UNHEARD)

    @contextmanager
    def _watched(self, update_errors: Metric | None) -> Iterator[None]:
        """Count what an owner's call raises: the coordinator's own counts of refusals are exact."""
        try:
            yield
        except PartitionNotOwnedError:
            self._refusals.incr("refused")
            self._count(Metric.NOT_OWNED)
            raise
        except PartitionNotFoundError as error:
            if error.deleted_by is not None:
                self._refusals.incr("refused")
            self._count(Metric.NOT_FOUND)
            raise
        except CoordinationError:
            if update_errors is not None:
                self._count(update_errors)
            raise
