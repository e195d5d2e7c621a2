"""Answers of a store: those to writes, head records, and numbers of what was done and can be done."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import NEVER_PAUSED, Pause
from airflow_coordination.protocol.refreshing import Outdated
from airflow_coordination.values.accounting import Accounting, copied
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.times import Span


@dataclass(frozen=True, slots=True)
class HeadRecord:
    """What readers follow: the published output of one partition in one dataset. It has a life of its own.

    :param source: the stored source identifier.
    :param dataset: the dataset.
    :param key: the partition key.
    :param blocks: the manifests to read, normally one; none after a person's retract.
    :param rows: rows in them together.
    :param bytes: bytes in them together.
    :param generation: the generation that published it.
    :param op: operation id of the ending that published it.
    :param token: the tenure's token.
    :param kind: ``files``; later also tables.
    :param state: ``applied``; later ``pending`` for tables.
    :param published_at: when its blocks changed last, by the store's clock.
    :param accounting_text: the partition's totals as they were when it was published, as they are stored.
    :param interval_start: from when on there may be rows in it, by their own time; ``None`` = nobody has said.
    :param interval_end: up to when, itself excluded; there if and only if the start is.
    """

    source: str
    dataset: str
    key: str
    blocks: tuple[Block, ...]
    rows: int
    bytes: int
    generation: str
    op: str
    token: int
    kind: str = "files"
    state: str = "applied"
    published_at: datetime | None = None
    accounting_text: str | None = None
    interval_start: datetime | None = None
    interval_end: datetime | None = None

    def may_lie_in(self, within: Span | None) -> bool:
        """Return whether rows of it may lie in ``within``, where it is given; those of no interval may lie anywhere."""
        if within is None or self.interval_start is None or self.interval_end is None:
            return True
        return self.interval_start < within.end and within.start < self.interval_end

    @property
    def accounting(self) -> Accounting | None:
        """What had become of the partition's records when it was published; ``None`` when none were delivered.

        Older code that publishes anew leaves the copy of before: a close that starts over begins the generation of its
        own operation, anything else publishes in the generation of the totals.

        :raises InvalidInputError: when it is corrupt in the store.
        """
        return copied(self.accounting_text, {self.generation, self.op})


@dataclass(frozen=True, slots=True)
class Created:
    """The result of a creation.

    :param created: how many partitions are new.
    :param existing: how many were there already, in whatever status.
    :param changed: keys among the first existing ones whose payload, priority or parents differ now; the stored
        ones stay.
    :param refreshed: how many of the existing ones had been reset, and have now the payload that was given.
    :param outdated: what a store has found that may be refreshed; empty where that was done.
    """

    created: int = 0
    existing: int = 0
    changed: tuple[str, ...] = ()
    refreshed: int = 0
    outdated: tuple[Outdated, ...] = field(default=(), repr=False)

    def __add__(self, other: Created) -> Created:
        return Created(
            self.created + other.created,
            self.existing + other.existing,
            (self.changed + other.changed)[:100],
            self.refreshed + other.refreshed,
            self.outdated + other.outdated,
        )


@dataclass(frozen=True, slots=True)
class Swept:
    """The result of a sweep, as numbers of partitions."""

    reopened: int = 0
    reclaimed: int = 0
    parked: int = 0
    released: int = 0
    """That waited for a parent which had finished: its end was written by older code, or came back from a backup."""

    @property
    def total(self) -> int:
        """All of them together."""
        return self.reopened + self.reclaimed + self.parked + self.released


@dataclass(frozen=True, slots=True)
class Outlook:
    """What can still happen in a source, as numbers of partitions.

    :param claimable: can be acquired now (at most 1 is counted by stores for which counting is dear).
    :param assigned: held by an owner.
    :param waiting: CLOSED or UNASSIGNED until a time that has not come.
    :param parked: wait for a person.
    :param completed: done.
    :param next_due: the nearest of those times and lease ends, by the store's clock; never too late, and where more
        than a hundred leases are held perhaps too early.
    :param overdue: how many of the claimable ones are CLOSED and due, or have lost their owner, and wait for a sweep or
        an acquisition (stores for which counting is dear say 0).
    :param oldest_claimable: for how long the oldest of the claimable ones could have been acquired, ``None`` when there
        are none. Perhaps too short, because stores look at the first of each class in the acquisition order only
        (those for which reading is dear: at the first of all, and one that a person has parked and released before
        anybody held it counts from its creation).
    :param pause: whether the source is paused. What is claimable then is acquired when it is resumed.
    :param blocked: UNASSIGNED, and wait for a parent that has not finished.
    :param expired: how many of the overdue ones have lost their owner (stores for which counting is dear say 0, and
        count them as assigned).
    """

    claimable: int = 0
    assigned: int = 0
    waiting: int = 0
    parked: int = 0
    completed: int = 0
    next_due: datetime | None = None
    overdue: int = 0
    oldest_claimable: timedelta | None = None
    pause: Pause = NEVER_PAUSED
    blocked: int = 0
    expired: int = 0

    @property
    def paused(self) -> bool:
        """Whether new leases are held back."""
        return self.pause.paused

    @property
    def braked(self) -> bool:
        """Whether they are, because the source has paused itself."""
        return self.pause.braked


@dataclass(frozen=True, slots=True)
class Answer:
    """The store's answer to a write.

    :param applied: whether this very execution applied it.
    :param partition: after an acquisition, a begin or an action: the partition as it is now. After a
        refusal: as it is now, tombstones included, ``None`` when there is none. Otherwise ``None`` or as it is now.
    :param expires_at: after an applied renew, save or begin: until when the lease is held, by the store's clock.
    :param wanted_by: after an applied renew: who has asked for the lease; a store may say so after a save, too.
    :param released: after an applied ending that completes: how many waited for the partition; for the metrics only.
    """

    applied: bool
    partition: Partition | None = None
    expires_at: datetime | None = None
    wanted_by: str | None = None
    released: int = 0


@dataclass(frozen=True, slots=True)
class PauseAnswer:
    """The store's answer to "pause" and "resume".

    :param applied: whether this very execution applied it.
    :param pause: the source's pause as it is now.
    """

    applied: bool
    pause: Pause


@dataclass(frozen=True, slots=True)
class FusedAnswer:
    """The store's answer to "complete and acquire next".

    :param next: what was acquired, ``None`` when nothing was.
    :param missed: nothing was acquired, and not everything was looked at: as the request allowed, or because others
        waited for what was completed, so that it took a commit of its own.
    """

    ended: Answer
    next: Partition | None = None
    missed: bool = False
