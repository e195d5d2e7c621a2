"""The writes of the protocol, as values. One operation id = one content: a repeated write is the same value again.

Durations, not times, travel: the store adds them to its own clock (promise S8). ``source`` is always the
composed identifier (:func:`~airflow_coordination.values.names.compose_source`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from typing import Final

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.fence import Fence, Owner
from airflow_coordination.values.status import Outcome, PartitionStatus


class Keep(Enum):
    """Says "leave what is stored"."""

    KEEP = "keep"


KEEP = Keep.KEEP


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPartition:
    """One partition to create; texts are already encoded and checked."""

    key: str
    payload_text: str | None
    priority: int
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Create the partitions that do not exist, in this order; one atomic page. No parent is in it beside its child.

    :param branch: that all of them run in, ``None`` = none.
    """

    source: str
    op: str
    partitions: tuple[NewPartition, ...]
    branch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenancy:
    """The start of a new tenure: its owner, times and limits. ``op`` becomes the nonce.

    :param max_lost_leases: this tenure's limit, stored with it: whoever finds the lease expired judges by it.
    :param max_failures: the owner's limit of failures in a row, stored with it for people who ask.
    :param owner_details: what the owner says of itself; see :mod:`~airflow_coordination.values.fence`.
    """

    op: str
    owner: Owner
    timeout: timedelta
    max_lost_leases: int
    max_failures: int | None = None
    owner_details: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AcquireNext:
    """Acquire whatever is first in the order.

    :param new_first: start at the class "new", then crashed and reopened, so that no class starves.
    :param key: acquire only this partition, whatever its token (a bare key).
    :param may_miss: when fused, a store may look only where it mostly finds what is first, and say if it has missed.
    """

    source: str
    tenancy: Tenancy
    new_first: bool = False
    key: str | None = None
    may_miss: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AcquireHinted:
    """Acquire one partition if it is claimable and its token is still the one seen."""

    source: str
    key: str
    token: int
    tenancy: Tenancy


@dataclass(frozen=True, slots=True, kw_only=True)
class Retake:
    """Take over from an earlier try of the same task, without waiting for the lease to end.

    :param same_try: a second driver process of the same try does it.
    """

    source: str
    key: str
    token: int
    last_op: str
    tenancy: Tenancy
    same_try: bool = False

    @property
    def below_try(self) -> int:
        """The try from which on an owner is not taken over from."""
        return self.tenancy.owner.try_number + self.same_try


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopt:
    """A later try of the same task takes the running tenure under its watch. No chain write."""

    source: str
    key: str
    fence: Fence
    owner: Owner


@dataclass(frozen=True, slots=True, kw_only=True)
class Renew:
    """Hold the lease for ``timeout`` from now. No chain write."""

    source: str
    key: str
    fence: Fence
    timeout: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """A driver's first write under a tenure that a task started; refused if another driver was first."""

    source: str
    key: str
    fence: Fence
    op: str
    timeout: timedelta
    owner_details: str | None = None

    @property
    def prev(self) -> str:
        """What the chain must end with: the acquisition itself."""
        return self.fence.nonce


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """Store progress and all blocks it stands for, together; ``accounting`` is the totals after it, as in ``End``."""

    source: str
    key: str
    fence: Fence
    op: str
    prev: str
    progress_text: str | None
    staged: tuple[Block, ...]
    timeout: timedelta
    accounting: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OnParked:
    """Say what is to follow when the partition is parked, in the place of what was said before.

    :param text: from :func:`~.follow_up.promised`.
    """

    source: str
    key: str
    fence: Fence
    op: str
    prev: str
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """End the tenure: complete, close, fail or give up, and move head records in the same step.

    :param delay: until ``reOpenAt`` for CLOSED, ``None`` = parked; until ``availableAt`` for UNASSIGNED.
    :param failures: failures in a row after, as ``lost_leases``: what completes or closes sets both to 0.
    :param progress: progress after, or ``KEEP``.
    :param clear_staged: whether the staged blocks went into the head records.
    :param rows: rows in the blocks that this tenure publishes, as ``bytes`` are the bytes in them: for the history.
    :param accounting: the totals after it; ``None`` leaves what is stored.
    :param kept_accounting: what is stored then, as the chain knows it.
    :param then: what follows it at the source, as a note beside it; ``None`` = nothing.
    :param keeps: one of a family: a store that forgets what is completed keeps it.
    """

    source: str
    key: str
    fence: Fence
    op: str
    prev: str
    outcome: Outcome
    status: PartitionStatus
    closed_count: int
    failures: int
    lost_leases: int
    last_error: str | None
    delay: timedelta | None
    progress: str | Keep | None
    generation: str
    clear_staged: bool
    heads: tuple[HeadRecord, ...] = ()
    rows: int = 0
    bytes: int = 0
    accounting: str | None = None
    kept_accounting: str | None = None
    then: str | None = None
    keeps: bool = False

    @property
    def completes(self) -> bool:
        """Whether the partition has finished then, and whoever waits for it need not any more."""
        return self.status is PartitionStatus.COMPLETED

    @property
    def reopen_delay(self) -> timedelta | None:
        """Until ``reOpenAt``, ``None`` where nothing is reopened."""
        return self.delay if self.status is PartitionStatus.CLOSED else None

    @property
    def available_delay(self) -> timedelta | None:
        """Until ``availableAt``, ``None`` where nothing waits."""
        return self.delay if self.status is PartitionStatus.UNASSIGNED else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Another worker wants a lease: it says so under the fence of who holds it. No chain write.

    :param fence: of the tenure that is asked for.
    :param by: the owner's text of who asks.
    :param patience: after it the sender may steal, and others may ask.
    """

    source: str
    key: str
    fence: Fence
    by: str
    patience: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Steal:
    """Take a lease that was asked for and not handed over in time.

    :param fence: of the tenure that was asked for; the owner in ``tenancy`` has asked.
    """

    source: str
    key: str
    fence: Fence
    tenancy: Tenancy

    @property
    def token(self) -> int:
        """The token as seen."""
        return self.fence.token


OwnerWrite = Adopt | Renew | Begin | Save | OnParked | End
FencedWrite = OwnerWrite | Ask
"""Writes to a running tenure, that of another worker among them: all are conditioned on its fence."""
KnownAcquisition = AcquireHinted | Retake | Steal
"""Acquisitions of one known partition."""
ChainWrite = Begin | Save | OnParked | End


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChild:
    """A partition (``key``) need not wait for one of its parents any more, which has finished. No chain write."""

    source: str
    key: str
    parent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Reopen what is due and reclaim what has expired, at most ``limit`` partitions of each.

    :param max_lost_leases: in force for leases without a limit of their own, which older code has acquired.
    """

    source: str
    op: str
    limit: int
    max_lost_leases: int


class Action(StrEnum):
    """An action of a person on a partition, or of a clean-up in the name of whoever asked for it."""

    RELEASE = "release"
    REOPEN = "reopen"
    PARK = "park"
    RESET = "reset"
    FINISH = "finish"
    RETRACT = "retract"
    DELETE = "delete"
    CLEAN_UP = "clean up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A person's action, conditioned on what the person saw, and audited in the same step.

    :param branch: of a reset: the branch that it runs in from now on, ``None`` = none.
    :param datasets: of a retract: the head records that it empties, by the names that they are stored under
        (:func:`~.names.branch_dataset`); ``None`` = all of the partition.
    :param batch: names the action on many partitions that this is a part of, for who reads the audit; ``None`` = it is
        one by itself.
    """

    source: str
    key: str
    op: str
    action: Action
    seen: Partition
    by: str
    why: str
    branch: int | None = None
    datasets: tuple[str, ...] | None = None
    batch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Give a partition that nobody has touched since its creation the life that it had in another store.

    :param created: the operation that has created it here.
    :param life: the partition as it was there, with this store's source; nobody held it.
    """

    source: str
    key: str
    created: str
    life: Partition
    heads: tuple[HeadRecord, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPause:
    """A person pauses or resumes a source, audited in the same step.

    :param seen: the operation that had paused or resumed it last when the person looked; ``None`` if none had.
    :param lasts: after so long it ends by itself, by the store's clock; ``None`` when somebody resumes it.
    """

    source: str
    op: str
    paused: bool
    seen: str | None
    by: str
    why: str
    lasts: timedelta | None = None


SET_INTERVAL: Final = "set interval"
"""What the audit calls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetInterval:
    """A person says of which time the rows of one head record are, as they saw it.

    :param source: the stored source identifier.
    :param dataset: the dataset.
    :param key: the partition key.
    :param seen_op: the ending that had published it.
    :param seen_start: from when on it was said to be; ``None`` = nobody had said.
    :param seen_end: up to when.
    :param start: from when on it is, with a time zone.
    :param end: up to when, itself excluded.
    :param op: of this step, for the audit.
    :param by: who says it.
    :param why: what they said.
    """

    source: str
    dataset: str
    key: str
    seen_op: str
    seen_start: datetime | None
    seen_end: datetime | None
    start: datetime
    end: datetime
    op: str
    by: str
    why: str
