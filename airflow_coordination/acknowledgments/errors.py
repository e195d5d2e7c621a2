"""The error of a delivery that did not reach its end."""

from __future__ import annotations

from airflow_coordination.leases.errors import CoordinationError


class NegativeAcknowledgmentError(CoordinationError):
    """Records that were delivered under a lease are not everywhere they should be, so it may not end well.

    :param key: the partition key.
    :param problems: what is wrong, one sentence each, naming the sink.
    """

    def __init__(self, key: str, problems: tuple[str, ...]) -> None:
        super().__init__(key, problems)
        self.key, self.problems = key, problems

    def __str__(self) -> str:
        return (
            f"Not every record of partition {self.key!a} was delivered: {'; '.join(self.problems)}. Nothing after "
            "the last save counts. Mend the sink, or give dead_letters=… for records that it will never take"
        )
