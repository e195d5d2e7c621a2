"""The error of a delivery that did not reach its end."""

from __future__ import annotations

from typing import Final

from airflow_coordination.values.input_errors import CoordinationError

MEND_THE_SINK: Final = "Mend the sink, or give dead_letters=… for records that it will never take"
MORE_TIME: Final = "Give a longer acknowledgment_timeout, or deliver fewer records at once"
ONCE_MORE: Final = "Let its error end the function, or deliver the same records to the same sinks once more"


class NegativeAcknowledgmentError(CoordinationError):
    """Records that were delivered under a lease are not everywhere they should be, so it may not end well.

    :param key: the partition key.
    :param problems: what is wrong, one sentence each, naming the sink.
    :param remedy: what to do about it.
    """

    def __init__(self, key: str, problems: tuple[str, ...], remedy: str = MEND_THE_SINK) -> None:
        super().__init__(key, problems, remedy)
        self.key, self.problems, self.remedy = key, problems, remedy

    def __str__(self) -> str:
        return (
            f"Not every record of partition {self.key!a} was delivered: {'; '.join(self.problems)}. Nothing after "
            f"the last save counts. {self.remedy}"
        )
