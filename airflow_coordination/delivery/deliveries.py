"""The deliveries of one tenure together: their accounting, and whether the tenure may end well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from airflow_coordination.delivery.acknowledgment_set import (
    MEND_THE_SINK,
    MORE_TIME,
    ONCE_MORE,
    NegativeAcknowledgmentError,
)
from airflow_coordination.delivery.delivery import Acknowledgment, Delivery
from airflow_coordination.delivery.routing import Routing
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.outcomes import Close, Complete, GiveUp
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.systems.sink import SinkTask
from airflow_coordination.systems.spark.error_text import error_text
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.settings import OnNegative, check_way_out


@dataclass(frozen=True, slots=True)
class _Negative:
    """A negative delivery: why the tenure may not end well, and what becomes of its partition then.

    :param raised: what was to go where when the call raised; ``None`` for one that came back with its counts.
    """

    problems: tuple[str, ...]
    remedy: str
    on_negative: OnNegative
    raised: Routing | None = None

    def is_made_good_by(self, later: Routing) -> bool:
        """Whether a later delivery has brought the same records to the same sinks, and perhaps to more."""
        earlier = self.raised
        if earlier is None or not _names(earlier) <= _names(later):
            return False
        return earlier.records is later.records or _same(earlier.records, later.records)


@dataclass(slots=True)
class Deliveries:
    """The deliveries of one tenure, added up: what its calls to ``lease.deliver`` came to.

    :param key: the partition key.
    """

    key: str
    accounting: Accounting = field(default_factory=Accounting)
    _negative: list[_Negative] = field(default_factory=list)
    _read: list[Routing] = field(default_factory=list)
    _made: bool = False

    @property
    def counted(self) -> Accounting | None:
        """The counts for the next save or ending, ``None`` when nothing was delivered."""
        return self.accounting if self._made else None

    def made(self, delivery: Delivery, on_negative: OnNegative, coordinator: SourceCoordinator) -> Acknowledgment:
        """Make a delivery, and keep what became of it.

        :param coordinator: counts it for the metrics.
        """
        coordinator.counting.count_acknowledgment_set()
        try:
            done = delivery.run()
        except BaseException as error:
            coordinator.counting.count_acknowledgment(positive=False, expired=False, failed=0)
            self.add_raised(error, on_negative, delivery.routing)
            raise
        coordinator.counting.count_acknowledgment(
            positive=done.positive, expired=done.expired, failed=done.accounting.failed
        )
        self.add(done, on_negative, delivery.routing)
        return done

    def add(self, acknowledgment: Acknowledgment, on_negative: OnNegative, routing: Routing) -> None:
        """Add one; the first negative one decides about the tenure.

        A positive one makes an earlier one good that raised: nothing of that was counted, and its blocks were taken
        back. One that came back negative stays: its records are counted.

        :param routing: what went where.
        """
        counted = acknowledgment.accounting
        if any(each.records is routing.records and not _names(each) & _names(routing) for each in self._read):
            counted = Accounting(sinks=counted.sinks)  # the same records, for further sinks: they were counted
        self.accounting += counted
        self._read.append(routing)
        self._made = True
        if acknowledgment.positive:
            self._negative = [each for each in self._negative if not each.is_made_good_by(routing)]
            return
        remedy = MORE_TIME if acknowledgment.expired else MEND_THE_SINK
        self._negative.append(_Negative(acknowledgment.problems, remedy, on_negative))

    def add_raised(self, error: BaseException, on_negative: OnNegative, routing: Routing) -> None:
        """Add one that raised: whatever the function makes of its error, the records have not arrived.

        :param routing: what was to go where.
        """
        problem = f"a delivery to {', '.join(sorted(_names(routing))) or 'no sink'} raised {error_text(error)}"
        self._negative.append(_Negative((problem,), ONCE_MORE, on_negative, routing))

    def checked(self) -> Accounting | None:
        """Return the counts, unless not every record has passed: nothing may go on from that position.

        :raises NegativeAcknowledgmentError: naming sink, number and first error.
        """
        if self._negative:
            raise self._error()
        return self.counted

    def allowed(self, outcome: object) -> object:
        """Return the outcome that a function's result may have.

        :raises NegativeAcknowledgmentError: in the place of a good one, unless the partition is to be given up.
        """
        if not isinstance(outcome, Complete | Close) or not self._negative:
            return outcome
        if self._negative[0].on_negative == "fail":
            raise self._error()
        return GiveUp(str(self._error()))

    def _error(self) -> NegativeAcknowledgmentError:
        first = self._negative[0]
        return NegativeAcknowledgmentError(self.key, first.problems, first.remedy)


def _names(routing: Routing) -> set[str]:
    given: object = routing.sinks  # it may have been refused for what it is
    return set(map(str, given)) if isinstance(given, Mapping) else set()


def _same(one: object, other: object) -> bool:
    """Whether two DataFrames are the same question: Spark compares their plans. In doubt they are not."""
    try:
        return bool(one.sameSemantics(other))  # type: ignore[attr-defined]
    except Exception:  # no DataFrames, or of two sessions
        return False


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
