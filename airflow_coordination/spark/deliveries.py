"""The deliveries of one tenure together: their accounting, and whether the tenure may end well."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from airflow_coordination.acknowledgments import Accounting
from airflow_coordination.acknowledgments.errors import NegativeAcknowledgmentError
from airflow_coordination.leases.fence import Fence
from airflow_coordination.leases.partition import Partition
from airflow_coordination.leases.settings import OnNegative, check_way_out
from airflow_coordination.sinks.protocol import SinkTask
from airflow_coordination.spark.delivery import Acknowledgment
from airflow_coordination.spark.outcomes import Close, Complete, GiveUp


@dataclass(slots=True)
class Deliveries:
    """What the calls to ``lease.deliver`` of one tenure came to.

    :param key: the partition key.
    """

    key: str
    accounting: Accounting = field(default_factory=Accounting)
    _negative: Acknowledgment | None = None
    _on_negative: OnNegative = "fail"
    _made: bool = False

    @property
    def counted(self) -> Accounting | None:
        """The counts for the next save or ending, ``None`` when nothing was delivered."""
        return self.accounting if self._made else None

    def add(self, acknowledgment: Acknowledgment, on_negative: OnNegative) -> None:
        """Add one; the first negative one decides about the tenure."""
        self.accounting += acknowledgment.accounting
        self._made = True
        if not acknowledgment.positive and self._negative is None:
            self._negative, self._on_negative = acknowledgment, on_negative

    def checked(self) -> Accounting | None:
        """Return the counts, unless not every record has passed: nothing may go on from that position.

        :raises NegativeAcknowledgmentError: naming sink, number and first error.
        """
        if self._negative is not None:
            raise NegativeAcknowledgmentError(self.key, self._negative.problems)
        return self.counted

    def settled(self, outcome: object) -> object:
        """Return the outcome that a function's result may have.

        :raises NegativeAcknowledgmentError: in the place of a good one, unless the partition is to be given up.
        """
        if not isinstance(outcome, Complete | Close) or self._negative is None:
            return outcome
        error = NegativeAcknowledgmentError(self.key, self._negative.problems)
        if self._on_negative == "fail":
            raise error
        return GiveUp(str(error))


def sink_task(partition: Partition, fence: Fence, store_id: str, key: str) -> SinkTask:
    """Return what sinks are told about a tenure.

    :param store_id: of the partition's store.
    :param key: the column that identifies a record.
    """
    return SinkTask(
        key=key,
        source=partition.source,
        partition=partition.key,
        partition_id=f"{store_id}/{partition.source}/{partition.key}",
        token=fence.token,
        fence=str(fence),
    )


def way_out(on_negative: str) -> OnNegative:
    """Return what becomes of a partition when its delivery is not positive.

    :raises InvalidInputError: for what is no way out.
    """
    check_way_out(on_negative)
    return cast("OnNegative", on_negative)
