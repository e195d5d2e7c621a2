"""Who is late in a source: leases that were not renewed in time, while others keep off (``reassign_grace``)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.explaining.wording import counted
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.values.status import PartitionStatus

MOST_LOOKED_AT: Final = 2_000
"""The most leases that are looked at; beyond them it is "at least"."""


@dataclass(frozen=True, slots=True)
class Late:
    """The leases of a source that are in grace.

    :param number: how many.
    :param until: when the first of them ends, so that others get it; ``None`` when there is none.
    :param exact: false where not all leases were looked at.
    """

    number: int = 0
    until: datetime | None = None
    exact: bool = True

    def __str__(self) -> str:
        """Return it in words, empty when nobody is late."""
        if self.until is None:
            return ""
        some = f"{'' if self.exact else 'at least '}{counted(self.number, 'partition')}"
        return f"{some} in grace, next at {self.until.isoformat(timespec='seconds')}"


NOBODY: Final = Late()


def late_ones(coordinator: SourceCoordinator, outlook: Outlook) -> Late:
    """Return who is late, as far as the coordinator's ``reassign_grace`` tells; no request where there is no grace.

    :param coordinator: of the source; the grace is its own, which must be that of the owners.
    :param outlook: of the source just now. It tells in most cases that nobody is late, with one look at the clock.
    """
    grace, due = coordinator.settings.reassign_grace, outlook.next_due
    if not grace or not outlook.assigned or due is None:
        return NOBODY
    now = coordinator.store.now()
    if due > now + grace:
        return NOBODY
    held = coordinator.partitions(PartitionStatus.ASSIGNED, limit=MOST_LOOKED_AT)
    ends = [each.ownership_timeout for each in held if each.is_late(grace, now) and each.ownership_timeout]
    return Late(len(ends), min(ends, default=None), len(held) < MOST_LOOKED_AT)
