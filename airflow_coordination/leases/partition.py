"""The values of the lease protocol: all frozen, all plain Python."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any
from urllib.parse import quote, unquote

from airflow_coordination.leases.blocks import Block
from airflow_coordination.leases.clock import from_micros
from airflow_coordination.leases.documents import decode_object, decode_progress, encode_payload
from airflow_coordination.leases.errors import ForkedChildError, InvalidInputError
from airflow_coordination.leases.names import check_key

RING_SIZE = 8
"""How many endings a partition remembers: entry ``token mod 8`` (protocol.md, *Words of the wire*)."""


class PartitionStatus(StrEnum):
    """The four statuses of the seed (Data Prepper: ``sourcePartitionStatus``). Parked: CLOSED without ``reopen_at``."""

    UNASSIGNED = "UNASSIGNED"
    ASSIGNED = "ASSIGNED"
    CLOSED = "CLOSED"
    COMPLETED = "COMPLETED"


class Rank(IntEnum):
    """The class an UNASSIGNED partition waits in; smaller goes first, and sweeps preserve it."""

    CRASHED = 0
    REOPENED = 1
    NEW = 2


class Outcome(StrEnum):
    """How a tenure ended."""

    COMPLETED = "completed"
    CLOSED = "closed"
    FAILED = "failed"
    GIVEN_UP = "given up"
    LOST = "lost"
    RETAKEN = "retaken"
    RELEASED = "released"
    OVERTAKEN = "overtaken"
    """Never stored: another process writes under the same fence."""


@dataclass(frozen=True, slots=True)
class PartitionIdentifier:
    """What a supplier returns for one unit of work.

    :param key: 1 to 2,048 bytes of UTF-8 without NUL, unique in its source.
    :param payload: what the work needs to know (where its data is, its range): a JSON object of at most
        4 KB, immutable once created.
    :param priority: smaller goes first inside a class; default 0.
    :raises InvalidInputError: when one of them cannot be stored; the message names it.
    """

    key: str
    payload: Mapping[str, Any] | None = None
    priority: int = 0
    payload_text: str | None = field(init=False, repr=False, compare=False)
    """The payload as a store keeps it."""

    def __post_init__(self) -> None:
        check_key(self.key)
        object.__setattr__(self, "payload_text", encode_payload(self.payload))
        priority: object = self.priority
        if isinstance(priority, bool) or not isinstance(priority, int) or abs(priority) >= 2**31:
            raise InvalidInputError("priority", self.priority, "is not a whole number of 32 bits", "Give an int")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a supplier may yield between pages: the global state that covers all it has yielded so far.

    :param state: a JSON object.
    """

    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fence:
    """One tenure's unforgeable number. The whole fence decides; the token only orders (promise S1).

    :param token: grows by one with every acquisition of the partition.
    :param nonce: random; the operation id of the acquisition.
    """

    token: int
    nonce: str

    def __str__(self) -> str:
        return f"{self.token}-{self.nonce}"

    @classmethod
    def parse(cls, text: str) -> Fence:
        """Return the fence written as ``token-nonce``.

        :raises InvalidInputError: when ``text`` is not of that form.
        """
        token, dash, nonce = text.partition("-")
        if not (dash and nonce and token.isascii() and token.isdigit()):
            raise InvalidInputError("fence", text, "is not of the form token-nonce", "Copy it whole")
        return cls(int(token), nonce)


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a lease. ``hostname/dag/run/task/map index/try``; other texts own without a task identity.

    :param text: the whole, as ``partitionOwner`` shows it; each of the six parts percent-encoded.
    """

    text: str

    @classmethod
    def of_task(cls, hostname: str, dag: str, run: str, task: str, map_index: int, try_number: int) -> Owner:
        """Return the owner that an Airflow task instance is."""
        parts = (hostname, dag, run, task, str(map_index), str(try_number))
        return cls("/".join(quote(part, safe=":+@ ") for part in parts))

    @property
    def _parts(self) -> list[str]:
        parts = self.text.split("/")
        return parts if len(parts) == 6 and parts[5].isascii() and parts[5].isdigit() else []

    @property
    def task(self) -> str:
        """The task identity: everything but hostname and try; the whole text for other owners."""
        return "/".join(self._parts[1:5]) or self.text

    @property
    def try_number(self) -> int:
        """The Airflow try, 0 for owners that are no Airflow task."""
        return int(self._parts[5]) if self._parts else 0

    @property
    def dag(self) -> str | None:
        """The dag id, ``None`` for owners that are no Airflow task."""
        return unquote(self._parts[1]) if self._parts else None


@dataclass(frozen=True, slots=True)
class Ending:
    """How and when one tenure ended.

    :param outcome: the kind of ending.
    :param fence: the tenure's fence.
    :param at: when, by the store's clock.
    :param op: operation id of the write that ended it.
    :param last: the chain's last operation before that.
    :param status_after: the partition's status since.
    :param closed_count: the partition's ``closedCount`` since.
    """

    outcome: Outcome
    fence: Fence
    at: datetime | None = None
    op: str = ""
    last: str = ""
    status_after: PartitionStatus | None = None
    closed_count: int = 0

    @property
    def time(self) -> datetime | None:
        """When, by the store's clock: the same as ``at``."""
        return self.at

    def __str__(self) -> str:
        when = f" at {self.at.isoformat(timespec='seconds')}" if self.at else ""
        return f"{self.outcome}{when}"

    @classmethod
    def parse(cls, entry: str) -> Ending:
        """Return the ending in a ring entry: ``token|nonce|outcome|op|last|status after|closedCount|microseconds``."""
        token, nonce, outcome, op, last, status, closed, at = entry.split("|")
        return cls(
            Outcome(outcome),
            Fence(int(token), nonce),
            from_micros(int(at)),
            op,
            last,
            PartitionStatus(status),
            int(closed),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One partition as the store held it at one moment.

    The names follow the seed where it has them (``closed_count`` is ``closedCount``, and so on). Times are
    the store's, timezone-aware, in UTC. ``failures`` and ``lost_leases`` count in a row: a completion or a close sets
    both to 0. What the protocol alone needs is at the end.
    """

    source: str
    key: str
    status: PartitionStatus
    payload_text: str | None = None
    priority: int = 0
    ordinal: int = 0
    rank: Rank = Rank.NEW
    progress_text: str | None = None
    closed_count: int = 0
    failures: int = 0
    lost_leases: int = 0
    last_error: str | None = None
    reopen_at: datetime | None = None
    available_at: datetime | None = None
    owner: str | None = None
    ownership_timeout: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    # of the protocol
    token: int = 0
    nonce: str = ""
    last_op: str = ""
    create_op: str = ""
    generation: str = ""
    confirmed: bool = False
    deleted: bool = False
    staged: tuple[Block, ...] = ()
    max_lost_leases: int | None = None
    """The limit in force for the newest lease, from its acquirer; ``None`` where older code has acquired it."""
    ring: tuple[str | None, ...] = (None,) * RING_SIZE

    @property
    def payload(self) -> dict[str, Any]:
        """What the supplier gave for this partition; empty when it gave nothing."""
        return decode_object(self.payload_text, "payload")

    @property
    def progress_state(self) -> Any:
        """The last saved progress, ``None`` when there is none.

        :raises ProgressStateError: when the stored text is corrupt; it is never taken for "none".
        """
        return decode_progress(self.progress_text)

    @property
    def fence(self) -> Fence | None:
        """The newest fence given for this partition, ``None`` before the first."""
        return Fence(self.token, self.nonce) if self.nonce else None

    @property
    def parked(self) -> bool:
        """Whether it waits for a person: CLOSED without a time to reopen."""
        return self.status is PartitionStatus.CLOSED and self.reopen_at is None and not self.deleted

    def held_under(self, fence: Fence) -> bool:
        """Return condition *F*: ASSIGNED under exactly this fence."""
        return (
            self.status is PartitionStatus.ASSIGNED
            and not self.deleted
            and (self.token, self.nonce) == (fence.token, fence.nonce)
        )

    def ending_of(self, fence: Fence) -> Ending | None:
        """Return how the tenure under ``fence`` ended, ``None`` if it has not or the ring no longer holds it."""
        ending = self.ending_at(fence.token)
        return ending if ending and ending.fence == fence else None

    def ending_at(self, token: int) -> Ending | None:
        """Return how the tenure with this token ended, ``None`` if it has not or the ring no longer holds it."""
        entry = self.ring[token % RING_SIZE]
        ending = Ending.parse(entry) if entry else None
        return ending if ending and ending.fence.token == token else None

    @property
    def endings(self) -> tuple[Ending, ...]:
        """The remembered endings, oldest first."""
        parsed = (Ending.parse(entry) for entry in self.ring if entry)
        return tuple(sorted(parsed, key=lambda ending: ending.fence.token))


@dataclass(slots=True)
class Chain:
    """The order of one tenure's writes, shared by all its :class:`Lease` values.

    Each write is conditioned on the one before, so no second one starts while one is unsettled: ``lock`` is
    held from a write's first attempt until it is settled. Renewals are not part of the chain.
    """

    last_op: str
    partition: Partition
    expires_at: datetime
    deadline: float
    """Own monotonic time until which the tenure is surely ours; only ever an early estimate."""
    ending: Ending | None = None
    unsettled: Any = None
    """The write whose outcome is not known yet; the next one settles it first."""
    intent: Any = None
    """What its caller asked for: the same call again, with the same arguments, is not a second write."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    process: int = field(default_factory=os.getpid)
    """The only process that writes it: a forked child inherits this value, not the tenure."""

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
    def ending(self) -> Ending | None:
        """How this tenure ended as far as this process knows, ``None`` while it is thought to go on."""
        return self.chain.ending
