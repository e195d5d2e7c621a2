"""The statuses of a partition, and the outcomes of a tenure that is over."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final


class PartitionStatus(StrEnum):
    """The four statuses of the seed (Data Prepper: ``sourcePartitionStatus``). Parked: CLOSED without ``reopen_at``."""

    UNASSIGNED = "UNASSIGNED"
    ASSIGNED = "ASSIGNED"
    CLOSED = "CLOSED"
    COMPLETED = "COMPLETED"


UNASSIGNED: Final = PartitionStatus.UNASSIGNED
ASSIGNED: Final = PartitionStatus.ASSIGNED
CLOSED: Final = PartitionStatus.CLOSED
COMPLETED: Final = PartitionStatus.COMPLETED


class Rank(IntEnum):
    """The class an UNASSIGNED partition waits in; smaller goes first, and sweeps preserve it."""

    CRASHED = 0
    REOPENED = 1
    NEW = 2


class Outcome(StrEnum):
    """The outcome of a tenure: how it ended."""

    COMPLETED = "completed"
    CLOSED = "closed"
    FAILED = "failed"
    GIVEN_UP = "given up"
    LOST = "lost"
    RETAKEN = "retaken"
    RELEASED = "released"
    HANDED_OVER = "handed over"
    """Given up because another worker had asked for the lease."""
    STOLEN = "stolen"
    """Taken by a worker that had asked for it, and waited in vain."""
    OVERTAKEN = "overtaken"
    """Never stored: another process writes under the same fence."""
