"""A source goes on where an application of the Kinesis Client Library has stopped: nothing is read again, nothing lost.

Each lease of the KCL becomes a partition with its checkpoint as progress, a finished one a completed partition, so that
:class:`~airflow_coordination.sources.KinesisShards` afterwards finds what it would have made itself. A life is placed
over a creation (decision 38), a generation of shards at a time, so that no child waits for a parent that was finished.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.moving import Life, Moved
from airflow_coordination.planning.shards.lineage import Lineage
from airflow_coordination.planning.shards.plan import NewLease
from airflow_coordination.planning.shards.position import TRIM_HORIZON, Position
from airflow_coordination.planning.shards.shard import Shard
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.systems.kinesis.checkpoint import Checkpoint
from airflow_coordination.systems.kinesis.kcl_table import KclLease, Sentinel
from airflow_coordination.systems.kinesis.listing import find, list_shards
from airflow_coordination.systems.kinesis.shards import Stream
from airflow_coordination.systems.suppliers import SourceError
from airflow_coordination.values.documents import encode_progress
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError
from airflow_coordination.values.status import COMPLETED, UNASSIGNED, Rank

_OP_LENGTH: Final = 24


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What goes on here of one shard.

    :param generation: how many of its ancestors have leases, one above the other.
    """

    stream: Stream
    shard: Shard
    lease: KclLease
    position: Position
    parents: tuple[str, ...]
    generation: int

    @property
    def key(self) -> str:
        """The partition's key."""
        return self.stream.key(self.shard.id)

    def life(self, op: str, now: datetime) -> Life:
        """Return what is to go on here.

        :param op: the operation that creates it.
        :param now: by the store's clock.
        """
        made = self.stream.identifier(NewLease(self.shard.id, self.position, self.parents), self.shard.hashes)
        fresh = Partition(
            source="",
            key=made.key,
            status=UNASSIGNED,
            payload_text=made.payload_text,
            parents=tuple(made.parents),
            created_at=now,
            available_at=now,
            last_op=op,
            create_op=op,
            generation=op,
        )
        return Life(made.key, _lived(fresh, self.lease, op))


@dataclass(frozen=True, slots=True)
class TakeoverPlan:
    """The plan of a takeover, before anything is done.

    :param shards: in the order in which they are created.
    :param left: why what is in the table is not taken over, by ``leaseKey``.
    """

    shards: tuple[TakenOver, ...]
    left: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.shards)

    @property
    def op(self) -> str:
        """The operation that creates all of it, the same for the same leases: an interrupted takeover goes on."""
        told = "\n".join(f"{one.key} {one.lease.place} {one.position}" for one in self.shards)
        return hashlib.sha256(told.encode()).hexdigest()[:_OP_LENGTH]

    @property
    def done(self) -> int:
        """How many of the shards were read to their end."""
        return sum(one.lease.done for one in self.shards)


def make_plan(
    client: Any, leases: Iterable[KclLease], streams: Sequence[str], begin: datetime | None = None
) -> TakeoverPlan:
    """Return what to take over, asking Kinesis for the shards there are.

    :param client: boto3's client of Kinesis.
    :param streams: names or ARNs: the one stream of a table that does not name it, otherwise those to take over;
        none is all that the table names.
    :param begin: where a lease begins that never had a checkpoint and does not begin at TRIM_HORIZON.
    :raises SettingsError: when the streams do not go with the table, or ``begin`` is missing.
    :raises SourceError: when there is no such stream.
    :raises InvalidInputError: when a shard was begun before its parents were finished.
    """
    by_stream = defaultdict[str | None, list[KclLease]](list)
    for lease in leases:
        by_stream[lease.stream].append(lease)
    taken: list[TakenOver] = []
    left: dict[str, str] = {}
    for stream, its in _told_streams(client, by_stream, streams, left):
        taken += _shards(stream, its, list_shards(client, stream, None, alive_only=False).shards, begin, left)
    return TakeoverPlan(tuple(sorted(taken, key=lambda one: one.generation)), left)


def take_over(coordinator: SourceCoordinator, plan: TakeoverPlan, by: str, table: str) -> Moved:
    """Let the source go on from there; it is paused, and stays so until somebody resumes it.

    Interrupted, it is called again with the same plan, and goes on.

    :param by: who asks for it, for the audit.
    :param table: the KCL's table, for the audit.
    """
    coordinator.supplying.register()
    if not coordinator.pausing.current_pause().unending:
        coordinator.pausing.pause(by, f"import of the KCL's table {table}")
    coordinator.moving.wait_until_paused()
    done, op, now = Moved(), plan.op, coordinator.store.now()
    for generation in range(1 + max((one.generation for one in plan.shards), default=-1)):
        shards = [one for one in plan.shards if one.generation == generation]
        for start in range(0, len(shards), coordinator.store.create_page):
            page = shards[start : start + coordinator.store.create_page]
            done += coordinator.moving.settle_in([one.life(op, now) for one in page], op)
    return done


def _told_streams(
    client: Any, leases: Mapping[str | None, list[KclLease]], names: Sequence[str], left: dict[str, str]
) -> Iterator[tuple[Stream, list[KclLease]]]:
    """Yield the streams with their leases, and note those of streams that are not asked for, or are gone."""
    if None in leases and (len(leases) > 1 or len(names) != 1):
        problem = "has leases that do not name their stream, which are of one stream only"
        raise SettingsError("stream", ", ".join(names) or None, problem, "Name that stream: --stream NAME")
    for prefix, its in leases.items():
        wanted = names[0] if prefix is None else _wanted(prefix, names)
        found = None if wanted is None else find(client, wanted)
        if wanted is not None and found is None:
            raise SourceError("list shards", wanted, "is no stream here", "Check its name, the account and the region")
        if found is None:
            left.update((lease.key, "its stream was not asked for") for lease in its)
        elif prefix is not None and found[0].prefix != prefix:
            why = f"the stream was deleted since, and made anew: it is {found[0].prefix} now"
            left.update((lease.key, why) for lease in its)
        else:
            yield found[0], its


def _wanted(prefix: str, names: Sequence[str]) -> str | None:
    name = prefix.split(":")[1]
    return next((each for each in names if each.rpartition("/")[2] == name), None) if names else name


def _shards(
    stream: Stream, leases: list[KclLease], listed: Sequence[Shard], begin: datetime | None, left: dict[str, str]
) -> Iterator[TakenOver]:
    lineage = Lineage.of(listed)
    its = {lease.shard: lease for lease in leases if lease.shard in lineage.shards}
    left.update((lease.key, "Kinesis has no such shard any more") for lease in leases if lease.shard not in its)
    depth: dict[str, int] = {}
    for name, shard in lineage.shards.items():  # parents come before their children
        above = lineage.parents[name]
        depth[name] = max((depth[each] + (each in its) for each in above), default=0)
        if name in its:
            parents = tuple(each for each in above if each in its)
            _check_order(its[name], [its[each] for each in parents])
            yield TakenOver(stream, shard, its[name], _position(its[name], begin), parents, depth[name])


def _check_order(lease: KclLease, parents: list[KclLease]) -> None:
    """Refuse a lease that has come further than its parents allow: it could not be acquired, and would be read again.

    :raises InvalidInputError: naming it.
    """
    waiting = [parent.shard for parent in parents if not parent.done]
    if waiting and (lease.done or isinstance(lease.place, Checkpoint)):
        problem = f"of lease {lease.key} is behind its beginning, but parent {waiting[0]} is not at SHARD_END"
        remedy = "Let the KCL finish the parent, or set the item right, and begin again"
        raise InvalidInputError("checkpoint", str(lease.place), problem, remedy)


def _position(lease: KclLease, begin: datetime | None) -> Position:
    """Return where a shard begins; whoever has a checkpoint goes on from there instead."""
    if lease.place not in (Sentinel.LATEST, Sentinel.AT_TIMESTAMP):
        return TRIM_HORIZON
    if begin is None:
        problem = f"is missing: lease {lease.key} has no checkpoint, and begins at {lease.place}, of which the table"
        remedy = "Give a moment before the oldest record that was not read: --begin-at 2026-11-25T08:00:00Z"
        raise SettingsError("begin_at", None, f"{problem} keeps no time", remedy)
    return Position.at_timestamp(begin)


def _lived(fresh: Partition, lease: KclLease, op: str) -> Partition:
    """Return a new partition as it is after the KCL's tenures: one with a fence, of which nothing else is known."""
    once: dict[str, Any] = {"token": 1, "nonce": op}
    if lease.done:
        return replace(fresh, **once, status=COMPLETED, available_at=None)
    if isinstance(lease.place, Checkpoint):
        return replace(
            fresh, **once, rank=Rank.CRASHED, progress_text=encode_progress({"after": lease.place.to_json()})
        )
    return fresh
