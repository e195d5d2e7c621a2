"""The states in people's words: in a store a parked partition is CLOSED like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from airflow_coordination.leases.partition import Partition
from airflow_coordination.leases.results import Outlook
from airflow_coordination.leases.status import PartitionStatus

PARKED: Final = "PARKED"
"""The people's word for CLOSED without a time to reopen."""
_WANTED: Final = {
    **{str(each): (each, None) for each in PartitionStatus},
    str(PartitionStatus.CLOSED): (PartitionStatus.CLOSED, False),
    PARKED: (PartitionStatus.CLOSED, True),
}
STATES: Final = tuple(_WANTED)
"""The states by which a list can be narrowed."""


def wanted(state: str | None) -> tuple[PartitionStatus | None, bool | None]:
    """Return what a page is asked for: the status, and whether parked, of one of :data:`STATES`, or of any."""
    return _WANTED.get(state or "", (None, None))


def state_of(partition: Partition) -> str:
    """Return in which of :data:`STATES` a partition is."""
    return PARKED if partition.parked else str(partition.status)


def by_state(counts: Mapping[PartitionStatus, int], outlook: Outlook) -> dict[str, int]:
    """Return how many partitions are in each of :data:`STATES`: in the store parked ones are CLOSED, too."""
    closed = max(0, counts[PartitionStatus.CLOSED] - outlook.parked)
    stored = {str(each): counts[each] for each in PartitionStatus}
    return {**stored, str(PartitionStatus.CLOSED): closed, PARKED: outlook.parked}
