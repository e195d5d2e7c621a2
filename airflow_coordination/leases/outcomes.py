"""How a tenure ends: what a partition function returns, what its owner asks for, and the write that comes of it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from airflow_coordination.planning.intervals import Interval, interval_of
from airflow_coordination.protocol.follow_up import Then, listed_actions
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import KEEP, End
from airflow_coordination.values import accounting
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.documents import encode_progress
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import storable
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.status import Outcome, PartitionStatus

log = logging.getLogger(__name__)

MAX_ERROR_CHARACTERS: Final = 2_000

_RETURNED_NOTHING: Final = "the partition function returned {}; return Complete(), Close(…) or GiveUp(…)"
_EXITED: Final = (
    "the partition function called sys.exit({}) without an outcome; return Complete() when the work is done"
)


def _wait(field: str, value: object) -> None:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidInputError(field, value, "has no time zone", "Give an aware datetime, or a timedelta from now")
    elif not isinstance(value, timedelta):
        raise InvalidInputError(field, value, f"is {type(value).__name__}", "Give a timedelta or an aware datetime")
    elif value < timedelta(0):
        raise InvalidInputError(field, value, "is negative", "Give how long from now, zero or more")


def said_interval(said: str | Interval | None) -> Interval | None:
    """Return the interval that whoever ends a tenure says.

    :raises InvalidInputError: when it is none.
    """
    return None if said is None else interval_of("interval", said)


@dataclass(frozen=True, slots=True)
class Complete:
    """The partition is done; what it published becomes visible in the same step.

    :param then: what follows at the source, one action or several (``DeleteObjects``, ``DeleteMessages``,
        ``ShowMessages``, ``CommitOffsets``, ``CallUrl``).
        The same step notes it; it is done right after it, or later by the source's ``CreatePartitionsOperator`` or
        ``airflow coordination finish-actions``: at least once, and never without the completion.
    :param interval: of which time the rows are that it publishes, such as ``"2013-01/P1M"`` (Druid: the interval of
        a segment); by default what the payload calls ``"interval"``, if that is one.
    :raises InvalidInputError: when ``then`` or ``interval`` is something else.
    """

    then: Then = None
    interval: str | Interval | None = None

    def __post_init__(self) -> None:
        if self.then is not None:
            listed_actions(self.then)
        said_interval(self.interval)


@dataclass(frozen=True, slots=True)
class Close:
    """This pass is done; the partition opens again later (Data Prepper: ``closePartition``).

    :param reopen_after: a duration, or an aware moment.
    :param state: progress for the next pass; ``None`` starts it afresh, and its output replaces this pass's.
    :param then: what follows at the source; see :class:`Complete`.
    :param interval: of which time the rows are that this pass publishes; see :class:`Complete`.
    :raises InvalidInputError: for a negative duration, a naive datetime, a state that is not JSON, or another ``then``
        or ``interval``.
    """

    reopen_after: timedelta | datetime
    state: object = None
    then: Then = None
    interval: str | Interval | None = None

    def __post_init__(self) -> None:
        _wait("reopen_after", self.reopen_after)
        if self.then is not None:
            listed_actions(self.then)
        said_interval(self.interval)
        encode_progress(self.state)


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The work cannot be done now; it counts as nothing, and progress that was saved stays.

    :param reason: for people; shown in the task's log.
    :param retry_after: a duration, or an aware moment; at once when ``None``.
    :raises InvalidInputError: for a negative duration or a naive datetime.
    """

    reason: str
    retry_after: timedelta | datetime | None = None

    def __post_init__(self) -> None:
        if self.retry_after is not None:
            _wait("retry_after", self.retry_after)


PartitionOutcome = Complete | Close | GiveUp


def failure_of(result: object) -> BaseException:
    """Return the error that a partition keeps when its function returned no outcome."""
    if isinstance(result, SystemExit):
        return RuntimeError(_EXITED.format(result.code if result.code is not None else ""))
    if isinstance(result, BaseException):
        return result
    return RuntimeError(_RETURNED_NOTHING.format("nothing" if result is None else repr(result)[:100]))


@dataclass(frozen=True, slots=True, kw_only=True)
class EndRequest:
    """A wish to end a tenure. The same one again is the same ending, not a second one.

    :param asked: the wait that the caller has given, a duration or a moment; ``None`` = none, or by the settings.
    :param wait: the same as a duration, which for a moment is another one each time.
    :param counted: what became of the records in this tenure; ``None`` when none were delivered.
    :param then: what follows it at the source; ``None`` = nothing.
    :param interval: of which time the rows are that it publishes; ``None`` = as the payload says.
    """

    asked: timedelta | datetime | None = None
    wait: timedelta | None = field(default=None, compare=False)
    counted: Accounting | None = None
    then: str | None = None
    interval: str | Interval | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "interval", said_interval(self.interval))

    def changes(self, partition: Partition, op: str, settings: Settings) -> dict[str, Any]:
        """Return what the write (:class:`~.writes.End`) says otherwise than that everything stays as it is.

        :param partition: as the tenure's chain knows it.
        :param op: the ending's operation id.
        """
        raise NotImplementedError


_PUBLISHES: Final = {"clear_staged": True, "failures": 0, "lost_leases": 0, "last_error": None}
"""Of an ending that succeeds: failures and lost leases count in a row, and a success ends the row."""
_COMPLETED: Final = {"outcome": Outcome.COMPLETED, "status": PartitionStatus.COMPLETED}


@dataclass(frozen=True, slots=True)
class CompleteRequest(EndRequest):
    """COMPLETED: final until a person resets or deletes (promise S3).

    :param empty: datasets of which the partition has nothing from now on, without a block that says so.
    """

    empty: tuple[str, ...] = ()

    def changes(self, partition: Partition, op: str, settings: Settings) -> dict[str, Any]:
        """Return what the write changes."""
        return {**_PUBLISHES, **_COMPLETED}


@dataclass(frozen=True, slots=True)
class CloseRequest(EndRequest):
    """CLOSED for a while, or COMPLETED at the maximum (Data Prepper: ``closePartition``).

    :param progress: for the next pass; ``None`` starts it afresh, in a generation of its own.
    """

    progress: str | None = None

    def changes(self, partition: Partition, op: str, settings: Settings) -> dict[str, Any]:
        """Return what the write changes."""
        count = partition.closed_count + 1
        at_last = settings.max_closed_count is not None and count >= settings.max_closed_count
        closed = {"outcome": Outcome.CLOSED, "status": PartitionStatus.CLOSED, "delay": self.wait}
        return {
            **_PUBLISHES,
            **(_COMPLETED if at_last else closed),
            "closed_count": count,
            "progress": self.progress,
            "generation": partition.generation if self.progress is not None else op,
        }


@dataclass(frozen=True, slots=True)
class FailRequest(EndRequest):
    """Failed: progress and staged blocks are kept, and the partition is parked at the maximum.

    :param error: kept as the last error, as far as a store takes it.
    :param park: at once, because another try would fare no better.
    :param most: so many failures in a row park it, as the tenure's owner had it; ``None`` = by the settings.
    """

    error: str
    park: bool = False
    most: int | None = None

    def changes(self, partition: Partition, op: str, settings: Settings) -> dict[str, Any]:
        """Return what the write changes."""
        failures = partition.failures + 1
        most = settings.max_failures if self.most is None else self.most
        parks = self.park or failures >= most
        delay = settings.delay_after(failures) if self.wait is None else self.wait
        return {
            "outcome": Outcome.FAILED,
            "status": PartitionStatus.CLOSED if parks else PartitionStatus.UNASSIGNED,
            "failures": failures,
            "last_error": storable(self.error)[:MAX_ERROR_CHARACTERS],
            "delay": None if parks else delay,
        }


@dataclass(frozen=True, slots=True)
class GiveUpRequest(EndRequest):
    """Given up: counts nothing, free at once or after a while.

    :param wanted: because another worker wants it, and has asked.
    """

    wanted: bool = False

    def changes(self, partition: Partition, op: str, settings: Settings) -> dict[str, Any]:
        """Return what the write changes."""
        outcome = Outcome.HANDED_OVER if self.wanted else Outcome.GIVEN_UP
        return {"outcome": outcome, "status": PartitionStatus.UNASSIGNED, "delay": self.wait or timedelta(0)}


def interval_in(partition: Partition) -> Interval | None:
    """Return what a partition's payload calls ``"interval"``, if that is one.

    Suppliers of before may have called something else so, and their partitions complete as they did.
    """
    try:
        said = partition.payload.get("interval")
        return None if said is None else interval_of("payload.interval", said)
    except InvalidInputError as error:
        log.warning("What partition %r publishes gets no interval: %s", partition.key, error)
        return None


@dataclass(frozen=True, slots=True)
class Tenure:
    """The tenure that is to end.

    :param partition: as its chain knows it.
    :param fence: its fence.
    :param last_op: the last operation of its chain.
    :param totals: of the accounting, as they are stored now.
    """

    partition: Partition
    fence: Fence
    last_op: str
    totals: str | None = None

    def ended(self, request: EndRequest, op: str, settings: Settings) -> End:
        """Return the write that ends it as was asked for, without the head records that it publishes.

        :param op: the ending's operation id.
        """
        partition = self.partition
        as_it_is: dict[str, Any] = {
            "closed_count": partition.closed_count,
            "failures": partition.failures,
            "lost_leases": partition.lost_leases,
            "last_error": partition.last_error,
            "delay": None,
            "progress": KEEP,
            "generation": partition.generation,
            "clear_staged": False,
        }
        said = as_it_is | request.changes(partition, op, settings)
        publishes, generation = said["clear_staged"], said["generation"]
        return End(
            source=partition.source,
            key=partition.key,
            fence=self.fence,
            op=op,
            prev=self.last_op,
            **said,
            accounting=accounting.after(partition, request.counted, generation, self.totals) if publishes else None,
            kept_accounting=self.totals,
            then=request.then,
            keeps=bool(partition.parents),
        )
