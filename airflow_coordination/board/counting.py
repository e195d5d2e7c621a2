"""How many partitions are in which state: counted once for all who look, and never for one of them.

What is kept here knows no user. Who may see a source is asked at every look, before its numbers are taken from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Condition
from time import monotonic
from typing import Final

from cachetools import TLRUCache, cached

from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.leases.results import Outlook
from airflow_coordination.leases.status import PartitionStatus

LIFE: Final = 5.0
"""So many seconds a count is kept: half of what passes between two looks of one page."""
SHARE: Final = 10
"""A count is kept so many times as long as it took: counting takes a tenth of the time at most, however many look."""
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Counted:
    """A source in numbers.

    :param now: the store's clock then.
    :param at: this server's clock then: how old the numbers are is known by it alone.
    :param life: seconds for which they are kept.
    """

    counts: Mapping[PartitionStatus, int]
    outlook: Outlook
    now: datetime
    at: datetime
    life: float


def _until(_: object, counted: Counted, now: float) -> float:
    return now + counted.life


@cached(TLRUCache(_MOST, _until, monotonic), condition=Condition())
def counted(store: PartitionStore, source: str) -> Counted:
    """Count a source, or return what was counted a moment ago; who asks meanwhile waits for the same count.

    :param source: its stored identifier.
    :raises CoordinationError: when the store does not answer; the next to ask tries again.
    """
    began = monotonic()
    counts, outlook, now = store.counts(source), store.outlook(source), store.now()
    return Counted(counts, outlook, now, datetime.now(UTC), max(LIFE, SHARE * (monotonic() - began)))
