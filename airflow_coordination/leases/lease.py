"""A lease, the chain of its tenure's writes, and how its owner asks to end it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Protocol

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import KEEP, ChainWrite, End
from airflow_coordination.values import accounting
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.errors import ForkedChildError
from airflow_coordination.values.fence import Ending, Fence
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
        return replace(ended, accounting=accounting.after(self.partition, counted, ended.generation, self.totals))


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


Heeds = Callable[[str, str], bool]
"""Says whether a lease that was asked for is to be handed over, by who has asked and the partition."""


@dataclass(slots=True)
class Chain:
    """The order of one tenure's writes, shared by all its :class:`Lease` values.

    Each write is conditioned on the one before, so no second one starts while one is unsettled: ``lock`` is
    held from a write's first attempt until it is settled. Renewals are not part of the chain.
    """

    last_op: str
    partition: Partition
    """As the chain has left it, but for its accounting, which stays as it was when the tenure began: an owner says what
    it has counted since then, so that a write whose answer was lost counts once."""
    expires_at: datetime
    deadline: float
    """Own monotonic time until which the tenure is surely ours; only ever an early estimate."""
    totals: str | None = None
    """Of the accounting, as the chain has left them in the store."""
    wanted_by: str | None = None
    """Who has asked for the lease, as far as this process has heard; it stays so until the tenure ends."""
    heeds: Heeds | None = None
    """Says which questions count; all of them by default."""
    leaves: bool = False
    """Whether a question was heeded: by then the work is about to be given up, and so it stays."""
    released: int = 0
    """How many partitions have waited for this one until its ending."""
    told: Accounting | None = None
    """What of this tenure's counts has gone to the metrics."""
    ending: Ending | None = None
    unsettled: ChainWrite | None = None
    """The write whose outcome is not known yet; the next one settles it first."""
    asked: tuple[EndRequest, tuple[Block, ...]] | None = None
    """Which ending its caller asked for: the same call again, with the same arguments, is not a second write."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    process: int = field(default_factory=os.getpid)
    """The only process that writes it: a forked child inherits this value, not the tenure."""

    def is_wanted(self) -> bool:
        """Return whether the lease is to be handed over to who has asked for it."""
        asker = self.wanted_by
        if asker is not None and not self.leaves:
            self.leaves = self.heeds is None or self.heeds(asker, self.partition.key)
        return self.leaves

    def check_process(self) -> None:
        """Refuse a forked child, before it takes a lock that a thread of its parent may hold for ever here.

        :raises ForkedChildError: in any process but the one that made this chain.
        """
        if os.getpid() != self.process:
            raise ForkedChildError(self.partition.key, self.process, os.getpid())


@dataclass(frozen=True, slots=True)
class Lease:
    """One owner's hold on one partition, for one tenure.

    :param partition: the partition as it was when this value was made.
    :param fence: what every write under this lease is conditioned on.
    :param expires_at: until when it is held, by the store's clock, unless it is renewed.
    """

    partition: Partition
    fence: Fence
    expires_at: datetime
    chain: Chain = field(repr=False, compare=False)

    @property
    def key(self) -> str:
        """The partition's key."""
        return self.partition.key

    @property
    def wanted(self) -> bool:
        """Whether another worker has asked for it: save, and give it up (:meth:`.Workers.hand_over`)."""
        return self.chain.is_wanted()

    @property
    def ending(self) -> Ending | None:
        """How this tenure ended as far as this process knows, ``None`` while it is thought to go on."""
        return self.chain.ending
