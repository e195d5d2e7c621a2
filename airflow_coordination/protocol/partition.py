"""A partition: what a supplier makes with its parents, and what a store holds of it. All frozen."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from airflow_coordination.values.accounting import Accounting, current
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.documents import decode_object, decode_progress, encode_payload
from airflow_coordination.values.fence import RING_SIZE, Ending, Fence, Owner, facts_of
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import check_key
from airflow_coordination.values.status import PartitionStatus, Rank

MAX_PARENTS: Final = 16
"""The most parents of a partition: a shard of Kinesis has at most two, and DynamoDB takes 100 items in a step."""


def check_parents(key: str, parents: object) -> tuple[str, ...]:
    """Return the parents of a partition, if they can be some.

    :param key: of the partition itself.
    :raises InvalidInputError: naming what is no list of other keys, each once, or too many.
    """
    if isinstance(parents, str | bytes | Mapping) or not isinstance(parents, Iterable):
        raise InvalidInputError("parents", parents, f"is {type(parents).__name__}, not a list of keys", "Give a list")
    named = tuple(check_key(parent, "parents") for parent in parents)
    if len(named) > MAX_PARENTS:
        remedy = "Put a partition without work between them that stands for several"
        raise InvalidInputError("parents", list(named), f"are {len(named)}, the limit is {MAX_PARENTS}", remedy)
    for place, parent in enumerate(named):
        if parent == key:
            raise InvalidInputError("parents", parent, "is the partition itself", "Leave it out")
        if parent in named[:place]:
            raise InvalidInputError("parents", parent, "is named twice", "Name each parent once")
    return named


def dump_keys(keys: Iterable[str]) -> str | None:
    """Return keys as a store keeps them: a JSON list, nothing for none."""
    listed = list(keys)
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":")) if listed else None


def load_keys(text: str | None) -> tuple[str, ...]:
    """Return the keys in what :func:`dump_keys` wrote."""
    return tuple(json.loads(text)) if text else ()


SAME_MOMENT: Final = timedelta(seconds=1)
"""How far a start may lie before the ending before it: a statement that waited for a row is as old as its arrival, and
the clocks of two hosts on DynamoDB differ."""


@dataclass(frozen=True, slots=True)
class PartitionIdentifier:
    """A new partition, as a supplier returns it for one unit of work.

    :param key: 1 to 2,048 bytes of UTF-8 without NUL, unique in its source.
    :param payload: what the work needs to know (where its data is, its range): a JSON object of at most
        4 KB, immutable once created.
    :param priority: smaller goes first inside a class; default 0.
    :param parents: keys of at most 16 partitions of the same source, each once, which must have completed before this
        one can be acquired (Kinesis Client Library: ``parentShardIds``). Each must exist when this one is created.
    :raises InvalidInputError: when one of them cannot be stored; the message names it.
    """

    key: str
    payload: Mapping[str, Any] | None = None
    priority: int = 0
    parents: Iterable[str] = ()
    payload_text: str | None = field(init=False, repr=False, compare=False)
    """The payload as a store keeps it."""

    def __post_init__(self) -> None:
        check_key(self.key)
        object.__setattr__(self, "payload_text", encode_payload(self.payload))
        priority: object = self.priority
        if isinstance(priority, bool) or not isinstance(priority, int) or abs(priority) >= 2**31:
            raise InvalidInputError("priority", self.priority, "is not a whole number of 32 bits", "Give an int")
        object.__setattr__(self, "parents", check_parents(self.key, self.parents))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint of the supplier, between pages: the global state that covers all it has yielded so far.

    :param state: a JSON object.
    """

    state: Mapping[str, Any]


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
    parents: tuple[str, ...] = ()
    """Keys of what it comes after, for ever."""
    waits_for: tuple[str, ...] = ()
    """Those of its parents that have not finished since it was created: while there are any, nobody can acquire it."""
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
    max_failures: int | None = None
    """Failures in a row that park it, as its newest acquirer is set; for people, ``None`` as above."""
    acquired_at: datetime | None = None
    """Since when the owner holds it, ``None`` when nobody does, or older code has acquired it."""
    owner_details: str | None = None
    """What its driver says of itself, a JSON object (application, url); see :attr:`owner_facts`."""
    awaited_op: str | None = None
    """The last creation that named it as a parent before it finished; ``None`` where nobody waits for it."""
    wanted_by: str | None = None
    """Who has asked for a lease on it last; see :attr:`wanted`."""
    wanted_token: int | None = None
    """The token of the tenure that was asked for: in any other the mark says nothing."""
    wanted_until: datetime | None = None
    """From when on whoever has asked may steal it, and others may ask."""
    on_parked_text: str | None = None
    """What was said last to follow when it is parked, as it is stored; see :attr:`on_parked`."""
    branch: int | None = None
    """The branch that it runs in since its last reset, or its creation: what it publishes shows when that one does.
    ``None`` = in none, as usual."""
    accounting_text: str | None = None
    """The totals of its accounting with the generation that they belong to; see :attr:`accounting`."""
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
    def accounting(self) -> Accounting | None:
        """What became of its records, as of the last accepted save or ending; ``None`` where none was delivered.

        The counts go on from save to save and from pass to pass, and start again when it is reset, created again, or
        read again from the start: then they are those of the pass before until the next one has delivered.

        :raises InvalidInputError: when what is stored is corrupt.
        """
        stored = current(self)
        return None if stored is None else stored.accounting

    @property
    def owner_facts(self) -> dict[str, Any]:
        """What the driver that holds it has said of itself, such as its Spark application; empty when nothing.

        Older code leaves what the driver of a tenure before has said, and its start with it.
        """
        if self.owner is None or self.owner_details is None:
            return {}
        left = self.acquired_at is not None and self.held_since is None
        return {} if left else facts_of(self.owner_details)

    @property
    def held_since(self) -> datetime | None:
        """Since when its owner holds it; ``None`` when nobody does or older code has acquired it.

        That leaves the start of a tenure before, which lies before the last ending.
        """
        if self.owner is None or self.acquired_at is None:
            return None
        endings = self.endings
        last = endings[-1].at if endings else None
        return None if last is not None and is_stale(self.acquired_at, last) else self.acquired_at

    @property
    def fence(self) -> Fence | None:
        """The newest fence given for this partition, ``None`` before the first."""
        return Fence(self.token, self.nonce) if self.nonce else None

    @property
    def owner_task(self) -> str | None:
        """The task identity of who holds it, ``None`` when nobody does."""
        return Owner(self.owner).task if self.owner else None

    @property
    def owner_try(self) -> int | None:
        """The Airflow try of who holds it, ``None`` when nobody does."""
        return Owner(self.owner).try_number if self.owner else None

    def is_late(self, grace: timedelta, now: datetime) -> bool:
        """Return whether it is in grace: its owner has not renewed in time, and others do not get it yet.

        It is derived: what is stored is when others get it, the grace after it should have been renewed.

        :param grace: ``reassign_grace``, as its owner has it.
        :param now: by the store's clock.
        """
        until = self.ownership_timeout
        return self.status is PartitionStatus.ASSIGNED and until is not None and now < until <= now + grace

    @property
    def wanted(self) -> str | None:
        """Who has asked its owner to hand it over, ``None`` while nobody has."""
        held = self.status is PartitionStatus.ASSIGNED
        return self.wanted_by if held and self.wanted_token == self.token else None

    @property
    def on_parked(self) -> str | None:
        """What follows when it is parked, or is still to be done because it is; ``None`` = nothing.

        It was said in one generation, and goes with it: whoever resets the partition or creates it anew, older code
        too, leaves a text behind that says another generation.
        """
        generation, _, text = (self.on_parked_text or "").partition(" ")
        return text if text and generation == self.generation else None

    @property
    def blocked(self) -> bool:
        """Whether it waits for its parents: UNASSIGNED, and nobody can acquire it."""
        return self.status is PartitionStatus.UNASSIGNED and bool(self.waits_for) and not self.deleted

    @property
    def cleaned_up(self) -> bool:
        """Whether it had finished when it was removed: nobody need wait for it, though it is not there any more."""
        return self.deleted and self.status is PartitionStatus.COMPLETED

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
        """The remembered endings, oldest first.

        On DynamoDB those before a long tenure lie beside the partition: of one in a list, or in a lease, they are not
        among them; of one that was read by its key they are.
        """
        parsed = (Ending.parse(entry) for entry in self.ring if entry)
        return tuple(sorted(parsed, key=lambda ending: ending.fence.token))


def is_stale(start: datetime | None, ended: datetime) -> bool:
    """Return whether a start was left there by a tenure that older code has followed.

    :param start: of a tenure, as it is stored.
    :param ended: when the tenure before it ended.
    """
    return start is not None and start < ended - SAME_MOMENT
