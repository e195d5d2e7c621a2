"""A lease, and the chain of its tenure's writes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from airflow_coordination.leases.outcomes import EndRequest
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import ChainWrite
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.errors import ForkedChildError
from airflow_coordination.values.fence import Ending, Fence
from airflow_coordination.values.names import is_internal
from airflow_coordination.values.settings import Settings

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


def lease_time(settings: Settings, source: str) -> timedelta:
    """Return for how long a write holds a lease: others keep off for the grace, too, but where no work would come back.

    Its owner counts on the same time. Until then the store gives the partition to nobody else, so that an owner which
    comes back late goes on by renewing.

    :param source: the stored source identifier. Suppliers and members, of internal ones, are followed without a grace.
    """
    return settings.ownership_timeout if is_internal(source) else settings.lease_time


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
