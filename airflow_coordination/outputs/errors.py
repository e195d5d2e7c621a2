"""What can go wrong with output."""

from __future__ import annotations

from airflow_coordination.leases.errors import CoordinationError, shown


class OutputError(CoordinationError):
    """Files of a block cannot be written, are missing, or are not what was published.

    :param what: what was attempted and for which partition.
    :param address: the file or directory concerned.
    :param problem: what is wrong with it.
    :param remedy: what to do.
    """

    def __init__(self, what: str, address: str, problem: str, remedy: str) -> None:
        super().__init__(what, address, problem, remedy)
        self.what, self.address, self.problem, self.remedy = what, address, problem, remedy

    def __str__(self) -> str:
        return f"Cannot {self.what}: {self.address} {self.problem}. {self.remedy}"


def partition_label(source: str, key: str) -> str:
    """Return how errors name a partition: one printable line."""
    return f"partition {shown(key)} of source {shown(source)}"
