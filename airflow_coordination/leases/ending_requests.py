"""How an owner asks to end a tenure: frozen values, from which the write is made once the chain is held.

What a request leads to depends on the partition as the chain knows it then: how often it was closed, how often it has
failed. Two equal requests are the same wish, so that repeating a call whose outcome is unknown is no second ending.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Protocol

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import KEEP, End
from airflow_coordination.values import accounting as accounts
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.names import storable
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.status import Outcome, PartitionStatus

MAX_ERROR_CHARACTERS: Final = 2_000


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

    def ended(self, op: str, outcome: Outcome, status: PartitionStatus) -> End:
        """Return an ending that keeps what the partition has."""
        partition = self.partition
        return End(
            source=partition.source,
            key=partition.key,
            fence=self.fence,
            op=op,
            prev=self.last_op,
            outcome=outcome,
            status=status,
            closed_count=partition.closed_count,
            failures=partition.failures,
            lost_leases=partition.lost_leases,
            last_error=partition.last_error,
            delay=None,
            progress=KEEP,
            generation=partition.generation,
            clear_staged=False,
            keeps=bool(partition.parents),
            kept_accounting=self.totals,
        )

    def succeeded(self, op: str, outcome: Outcome, status: PartitionStatus) -> End:
        """Return an ending that publishes: failures and lost leases count in a row, and a success ends the row."""
        ended = self.ended(op, outcome, status)
        return replace(ended, clear_staged=True, failures=0, lost_leases=0, last_error=None)

    def accounted(self, ended: End, counted: Accounting | None) -> End:
        """Return the ending with the totals of the accounting after it."""
        return replace(ended, accounting=accounts.after(self.partition, counted, ended.generation, self.totals))


class EndRequest(Protocol):
    """A wish to end a tenure."""

    def resolved(self, tenure: Tenure, op: str, settings: Settings) -> End:
        """Return the write that ends the tenure, without the head records it publishes."""


@dataclass(frozen=True, slots=True)
class CompleteRequest:
    """COMPLETED: final until a person resets or deletes (promise S3).

    :param counted: what became of the records in this tenure; ``None`` when none were delivered.
    :param then: what follows it at the source; ``None`` = nothing.
    """

    counted: Accounting | None = None
    then: str | None = None

    def resolved(self, tenure: Tenure, op: str, settings: Settings) -> End:
        """Return the write."""
        ended = replace(tenure.succeeded(op, Outcome.COMPLETED, PartitionStatus.COMPLETED), then=self.then)
        return tenure.accounted(ended, self.counted)


@dataclass(frozen=True, slots=True)
class CloseRequest:
    """CLOSED for a while, or COMPLETED at the maximum (Data Prepper: ``closePartition``).

    :param asked: what the caller has given, a duration or a moment.
    :param progress: for the next pass; ``None`` starts it afresh, in a generation of its own.
    :param reopen_after: what was asked for, as a duration.
    :param counted: what became of the records in this tenure; ``None`` when none were delivered.
    :param then: what follows it at the source; ``None`` = nothing.
    """

    asked: timedelta | datetime
    progress: str | None
    reopen_after: timedelta = field(compare=False)
    counted: Accounting | None = None
    then: str | None = None

    def resolved(self, tenure: Tenure, op: str, settings: Settings) -> End:
        """Return the write."""
        count = tenure.partition.closed_count + 1
        generation = tenure.partition.generation if self.progress is not None else op
        if settings.max_closed_count is not None and count >= settings.max_closed_count:
            write, delay = tenure.succeeded(op, Outcome.COMPLETED, PartitionStatus.COMPLETED), None
        else:
            write, delay = tenure.succeeded(op, Outcome.CLOSED, PartitionStatus.CLOSED), self.reopen_after
        ended = replace(
            write,
            closed_count=count,
            delay=delay,
            progress=self.progress,
            generation=generation,
            then=self.then,
        )
        return tenure.accounted(ended, self.counted)


@dataclass(frozen=True, slots=True)
class FailRequest:
    """Failed: progress and staged blocks are kept, and the partition is parked at the maximum.

    :param error: kept as the last error, as far as a store takes it.
    :param asked: what the caller has given, a duration or a moment; ``None`` = by the settings.
    :param retry_after: what was asked for, as a duration.
    """

    error: str
    asked: timedelta | datetime | None = None
    retry_after: timedelta | None = field(default=None, compare=False)

    def resolved(self, tenure: Tenure, op: str, settings: Settings) -> End:
        """Return the write."""
        failures = tenure.partition.failures + 1
        parks = failures >= settings.max_failures
        delay = settings.delay_after(failures) if self.retry_after is None else self.retry_after
        status = PartitionStatus.CLOSED if parks else PartitionStatus.UNASSIGNED
        return replace(
            tenure.ended(op, Outcome.FAILED, status),
            failures=failures,
            last_error=storable(self.error)[:MAX_ERROR_CHARACTERS],
            delay=None if parks else delay,
        )


@dataclass(frozen=True, slots=True)
class GiveUpRequest:
    """Given up: counts nothing, free at once or after a while.

    :param asked: what the caller has given, a duration or a moment.
    :param retry_after: what was asked for, as a duration.
    :param wanted: because another worker wants it, and has asked.
    """

    asked: timedelta | datetime | None = None
    retry_after: timedelta | None = field(default=None, compare=False)
    wanted: bool = False

    def resolved(self, tenure: Tenure, op: str, settings: Settings) -> End:
        """Return the write."""
        outcome = Outcome.HANDED_OVER if self.wanted else Outcome.GIVEN_UP
        ended = tenure.ended(op, outcome, PartitionStatus.UNASSIGNED)
        return replace(ended, delay=self.retry_after or timedelta(0))
