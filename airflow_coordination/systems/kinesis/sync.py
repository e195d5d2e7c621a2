"""One look at one stream: which leases it lacks, and whether they must be asked for at all.

Source: KCL, ``PeriodicShardSyncManager`` and ``HierarchicalShardSyncer``; what is planned is in ``streams``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from airflow_coordination.leases.supply import Supplied
from airflow_coordination.planning.shards.coverage import holes, look
from airflow_coordination.planning.shards.lineage import Lineage
from airflow_coordination.planning.shards.plan import NewLease, first, plan
from airflow_coordination.planning.shards.position import TRIM_HORIZON, Position, Start
from airflow_coordination.planning.shards.shard import HashRange, Shard
from airflow_coordination.protocol.partition import Checkpoint, Partition, PartitionIdentifier
from airflow_coordination.systems.kinesis.listing import Listed
from airflow_coordination.systems.kinesis.memory import Memory, StreamMemory
from airflow_coordination.systems.kinesis.shards import ShardLease, Stream
from airflow_coordination.values.status import PartitionStatus

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Care:
    """How carefully a stream is looked at.

    :param confidence: how many identical findings running make a hole.
    :param full_sync_interval: how old the newest listing may become.
    :param ignore_unexpected_child_shards: leave out open children of open parents.
    """

    confidence: int
    full_sync_interval: timedelta
    ignore_unexpected_child_shards: bool = False


@dataclass
class Sync:
    """A look at a stream.

    :param stream: the stream.
    :param position: where reading begins; ``None`` is LATEST.
    :param partitions: all leases that it has.
    :param lists: asks Kinesis; with ``True`` only for what is alive at a position.
    :param memory: of all streams; this one's part is changed.
    :param care: see there.
    """

    stream: Stream
    position: Position | None
    partitions: Sequence[Partition]
    lists: Callable[[Position | None, bool], Listed]
    memory: Memory
    care: Care
    listed: bool = False
    """Whether Kinesis was asked for the shards."""
    holes: tuple[HashRange, ...] = ()
    """What is covered by no lease, although all that is planned is there."""

    def run(self, now: datetime) -> Iterator[Supplied]:
        """Yield the leases that are missing, and checkpoints where order matters.

        :param now: by the supplier's clock, which tells only whether the newest listing is old.
        :raises InconsistentListingError: when the stream is being resharded at this moment.
        """
        self._now = now
        known = self._known = self.memory.of(self.stream.prefix)
        self._leases = {lease.shard: (lease, done) for lease, done in map(_lease, self.partitions)}
        if known.plan is not None:
            yield from self._rest_of_first(known.plan)
        elif not self._leases:
            yield from self._first()
        elif self._due(now):
            yield from self._next()

    def _first(self) -> Iterator[Supplied]:
        begun = self._known.since if self.position is None else None
        alive_at = self.position if begun is None else Position.at_timestamp(begun)  # somebody has deleted all leases
        listed = self._list(alive_at, alive_only=True)
        if alive_at is not None and alive_at.start is Start.AT_TIMESTAMP and _misses_some(listed):
            # Some or all of what was alive then is trimmed, or there was no stream yet: what is oldest now comes after.
            listed = self._list(TRIM_HORIZON, alive_only=True)
        position = self._pinned(listed.at)
        planned = [replace(new, position=position) for new in first(listed.shards, alive_at or position)]
        if self.position is None:
            self._remember(self._known.planned(position, tuple(new.shard for new in planned)))
            yield Checkpoint(self.memory.document())
        yield from self._created(planned, listed)

    def _rest_of_first(self, shards: Sequence[str]) -> Iterator[Supplied]:
        """Create a first plan that was cut short: those very shards, whatever has become of them since."""
        listed = self._list()
        wanted = set(shards) - Lineage.of(listed.shards).ancestors(self._leases)  # those were read, and then deleted
        chosen = [one for one in listed.shards if one.id in wanted]
        parents = {one.id: tuple(each for each in one.parents if each in wanted) for one in chosen}
        planned = [NewLease(one.id, self._pinned(listed.at), parents[one.id]) for one in chosen]
        yield from self._created(sorted(planned, key=lambda new: shards.index(new.shard)), listed)

    def _due(self, now: datetime) -> bool:
        known = self._known
        ranges = [lease.hashes for lease, done in self._leases.values() if not done and lease.hashes is not None]
        findings, sure = look(known.findings, ranges, self.care.confidence)
        self._remember(replace(known, findings=findings))
        return sure or known.listed is None or now - known.listed >= self.care.full_sync_interval

    def _next(self) -> Iterator[Supplied]:
        listed = self._list()
        leased = {shard: done for shard, (_, done) in self._leases.items()}
        position = self._pinned(listed.at)
        planned = plan(
            listed.shards,
            leased,
            position,
            ignore_unexpected_child_shards=self.care.ignore_unexpected_child_shards,
        )
        planned = [self._goes_on(new) for new in planned]
        if self.position is None and self._known.since is None and any(new.position == position for new in planned):
            self._remember(replace(self._known, since=position.since))
            yield Checkpoint(self.memory.document())  # whoever has to finish this goes on from the same instant
        yield from self._created(planned, listed)

    def _goes_on(self, new: NewLease) -> NewLease:
        """Return a lease whose parents are read: it begins where theirs say, whatever is asked for today."""
        above = [self._leases[each][0].position for each in new.parents if each in self._leases]
        if not above:
            return new
        moments = [one.since for one in above if one.start is Start.AT_TIMESTAMP and one.since is not None]
        everything = len(moments) < len(above)
        return replace(new, position=TRIM_HORIZON if everything else Position.at_timestamp(min(moments)))

    def _created(self, planned: Sequence[NewLease], listed: Listed) -> Iterator[Supplied]:
        hashes = {one.id: one.hashes for one in listed.shards}
        yield from (self._identifier(new, hashes[new.shard]) for new in planned)
        self._remember(self._known.listed_at(self._now))
        yield Checkpoint(self.memory.document())  # when this goes on, everything before it is in the store
        self._look_again(planned, listed.shards)

    def _look_again(self, planned: Sequence[NewLease], shards: Sequence[Shard]) -> None:
        """Say what no lease covers or leads to: it cannot be planned, and is never replayed silently."""
        lineage = Lineage.of(shards)
        leading = {one.shard for one in planned} | {shard for shard, (_, done) in self._leases.items() if not done}
        open_ones = [one for one in shards if one.is_open]
        led = [one for one in open_ones if leading & {one.id, *lineage.ancestors([one.id])}]
        covered = [one.hashes for one in led if one.hashes is not None]
        covered += [lease.hashes for lease, done in self._leases.values() if not done and lease.hashes is not None]
        if not open_ones or any(one.hashes is None for one in open_ones):
            return
        self.holes = holes(covered)
        for hole in self.holes:
            log.warning("No lease of stream %s covers the hash keys %d to %d", self.stream.arn, hole.first, hole.last)

    def _pinned(self, listed_at: datetime) -> Position:
        """Return the position; LATEST is the instant of the first listing, or of this one where there is none."""
        if self.position is not None:
            return self.position
        return Position.latest(self._known.since or listed_at)

    def _identifier(self, new: NewLease, hashes: HashRange | None) -> PartitionIdentifier:
        return self.stream.identifier(new, hashes)

    def _list(self, position: Position | None = None, *, alive_only: bool = False) -> Listed:
        self.listed = True
        return self.lists(position, alive_only)

    def _remember(self, known: StreamMemory) -> None:
        self._known = known
        self.memory.streams[self.stream.prefix] = known


def _misses_some(listed: Listed) -> bool:
    """Return whether the shards of a listing leave hash keys out."""
    return bool(holes(one.hashes for one in listed.shards if one.hashes is not None))


def _lease(partition: Partition) -> tuple[ShardLease, bool]:
    """Return what a partition says of its shard, and whether it is finished."""
    return ShardLease.of(partition.key, partition.payload), partition.status is PartitionStatus.COMPLETED
