"""The seed's eight metrics and ours, behind a port of one method (Data Prepper: *Source coordination, Metrics*)."""

from __future__ import annotations

import re
import threading
from collections import Counter
from datetime import timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

from airflow_coordination.protocol.results import Outlook


class Metric(StrEnum):
    """Counters: names as the seed documents them, and some of our own."""

    CREATED = "partitionsCreatedCount"
    COMPLETED = "partitionsCompleted"
    NONE_ACQUIRED = "noPartitionsAcquired"
    ACQUIRED = "partitionsAcquired"
    CLOSED = "partitionsClosed"
    NOT_FOUND = "partitionNotFoundErrors"
    NOT_OWNED = "partitionNotOwnedErrors"
    SAVE_ERRORS = "saveState_partitionUpdateErrors"
    CLOSE_ERRORS = "close_partitionUpdateErrors"
    COMPLETE_ERRORS = "complete_partitionUpdateErrors"
    FAILED = "partitionsFailed"
    """Ours, as all that follow."""
    PARKED = "partitionsParked"
    LOST = "leasesLost"
    REOPENED = "partitionsReopened"
    THROTTLED = "storeThrottled"
    UNHEARD = "storeUnheard"
    FOLLOWED_UP = "followUpsDone"
    FOLLOW_UP_ERRORS = "followUpErrors"
    RECORDS_IN = "recordsIn"
    """Data Prepper's, of every processor and sink; so is the next."""
    RECORDS_OUT = "recordsOut"
    RECORDS_DROPPED = "recordsDropped"
    RECORDS_UNROUTED = "recordsUnrouted"
    RECORDS_DEAD_LETTERED = "recordsDeadLettered"
    RECORDS_FAILED = "recordsFailed"
    SETS_CREATED = "numberOfAcknowledgementSetsCreated"
    """Data Prepper's, of its manager of acknowledgment sets; so are the next two."""
    SETS_COMPLETED = "numberOfAcknowledgementSetsCompleted"
    SETS_EXPIRED = "numberOfAcknowledgementSetsExpired"
    SETS_POSITIVE = "positiveAcknowledgementSets"
    """Data Prepper's, of its MongoDB source; so is the next."""
    SETS_NEGATIVE = "negativeAcknowledgementSets"
    CHILDREN_RELEASED = "childrenReleased"
    HEALED = "stragglersHealed"
    HANDED_OVER = "leasesHandedOver"
    STOLEN = "leasesStolen"
    SHARD_SYNCS = "shardSyncs"
    """Looks at a stream for which its shards were listed, and those for which they need not be; so is the next."""
    SHARD_SYNCS_AVOIDED = "shardSyncsAvoided"
    COVERAGE_HOLES = "coverageHoles"


class Gauge(StrEnum):
    """What the newest look has seen; named after the fields of ``Outlook``. Partitions, unless it says seconds."""

    CLAIMABLE = "claimablePartitions"
    ASSIGNED = "assignedPartitions"
    WAITING = "waitingPartitions"
    PARKED = "parkedPartitions"
    BLOCKED = "blockedPartitions"
    COMPLETED = "completedPartitions"
    OVERDUE = "overduePartitions"
    EXPIRED = "expiredPartitions"
    OLDEST_CLAIMABLE = "oldestClaimableSeconds"
    PAUSED = "sourcePaused"
    """1 while new leases are held back, otherwise 0."""
    BRAKED = "sourceBraked"
    """1 while the source has paused itself, because its tenures failed one after the other of one error."""


class WorkGauge(StrEnum):
    """What a driver says of its own work, while it works."""

    BEHIND = "millisBehindLatest"
    """The KCL's: how far the reading of a shard is behind its newest record; of several shards the furthest."""


class Metrics(Protocol):
    """Where counts go. Airflow's ``Stats`` fits as it is. Gauges go to a method ``gauge(stat, value)``, if any."""

    def incr(self, stat: str, count: int = 1) -> object:
        """Add ``count`` to the counter named ``stat``."""


class CountingMetrics:
    """Counts in memory; exact under threads. ``counts`` and ``gauges`` are plain dictionaries by full name."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self.gauges: dict[str, int] = {}
        self._lock = threading.Lock()

    def incr(self, stat: str, count: int = 1) -> None:
        """Add ``count`` to the counter named ``stat``."""
        with self._lock:
            self._counts[stat] += count

    def gauge(self, stat: str, value: int) -> None:
        """Set the gauge named ``stat``."""
        self.gauges[stat] = value

    @property
    def counts(self) -> dict[str, int]:
        """The counters by full name."""
        with self._lock:
            return dict(self._counts)


def gauged(outlook: Outlook) -> dict[Gauge, int]:
    """Return the value of every gauge; an age in whole seconds, 0 when nothing waits."""
    age = outlook.oldest_claimable or timedelta()
    found: dict[Gauge, int] = {
        gauge: int(getattr(outlook, gauge.name.lower())) for gauge in Gauge if gauge is not Gauge.OLDEST_CLAIMABLE
    }
    return {**found, Gauge.OLDEST_CLAIMABLE: age // timedelta(seconds=1)}


@lru_cache(maxsize=1024)
def full_name(source: str, metric: Metric | Gauge | WorkGauge) -> str:
    """Return ``<source>_source_coordinator_<metric>``, with what a metric name may not hold replaced by ``_``."""
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', source)}_source_coordinator_{metric}"
