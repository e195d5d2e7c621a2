"""The error of output."""

from __future__ import annotations

from airflow_coordination.values.input_errors import CoordinationError, shown


class OutputError(CoordinationError):
    """Files of a block cannot be written, are missing, or are not what was published.

    :param what: the attempt, and its partition.
    :param address: the file or directory concerned.
    :param problem: the problem with it.
    :param remedy: the way out.
    """

    def __init__(self, what: str, address: str, problem: str, remedy: str) -> None:
        super().__init__(what, address, problem, remedy)
        self.what, self.address, self.problem, self.remedy = what, address, problem, remedy

    def __str__(self) -> str:
        return f"Cannot {self.what}: {self.address} {self.problem}. {self.remedy}"


def partition_label(source: str, key: str) -> str:
    """Return a partition's name for errors: one printable line."""
    return f"partition {shown(key)} of source {shown(source)}"
