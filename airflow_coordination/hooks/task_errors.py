"""The errors that say whether trying a task again is worth it, and when."""

from __future__ import annotations

from datetime import datetime

from airflow_coordination.protocol.remedies import AIRFLOW, Shell, about
from airflow_coordination.values.input_errors import CoordinationError, shown


class PartitionFailedError(CoordinationError):
    """The work on a partition failed; the partition waits, or is parked.

    :param key: the partition.
    :param reason: what failed.
    :param available_at: when it can be acquired again, ``None`` when it is parked.
    :param source: the stored identifier of its source, for the command that a person may type.
    :param shell: how commands reach its store.
    """

    def __init__(
        self, key: str, reason: str, available_at: datetime | None, source: str, shell: Shell = AIRFLOW
    ) -> None:
        super().__init__(key, reason, available_at, source, shell)
        self.shell = shell
        self.key, self.reason, self.available_at, self.source = key, reason, available_at, source

    def __str__(self) -> str:
        after = (
            f"It can be tried again from {self.available_at.isoformat(timespec='seconds')}"
            if self.available_at
            else f"It is parked until a person acts: {about(self.shell, 'reopen', self.source, self.key)}"
        )
        return f"Partition {shown(self.key)}: {self.reason}. {after}."


class SupplierBusyError(CoordinationError):
    """Nothing was listed: somebody else holds the source's lease, alive or dead.

    :param source: the source's name.
    :param rival: who holds it, ``None`` when it was free again a moment later.
    :param until: when that lease ends unless it is renewed.
    """

    def __init__(self, source: str, rival: str | None, until: datetime | None) -> None:
        super().__init__(source, rival, until)
        self.source, self.rival, self.until = source, rival, until

    def __str__(self) -> str:
        end = f" until {self.until.isoformat(timespec='seconds')}, if it does not renew it" if self.until else ""
        return (
            f"Nothing was listed: {shown(self.rival)} holds the lease of the supplier of source {shown(self.source)}"
            f"{end}. Retry soon; without retries, run this task again."
        )


class DrainCutShortError(CoordinationError):
    """The driver of a drain ended between two partitions: none of them failed, and the source may hold more.

    :param partitions: how many it had ended.
    :param reason: how the driver ended.
    """

    def __init__(self, partitions: int, reason: str) -> None:
        super().__init__(partitions, reason)
        self.partitions, self.reason = partitions, reason

    def __str__(self) -> str:
        return (
            f"The driver ended after {self.partitions} partitions, before it knew that there are no more: "
            f"{self.reason}. Nothing was lost; the next try goes on."
        )
