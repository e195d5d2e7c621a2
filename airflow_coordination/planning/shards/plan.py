"""The plan of which shards get a lease next, at the beginning and at a shard's end: pure functions of a listing.

One level of each lineage at a time, oldest first. Source: KCL, ``HierarchicalShardSyncer``, and one rule more (decision
48): a shard with a leased descendant is never started again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from airflow_coordination.planning.shards.lineage import InconsistentListingError, Lineage
from airflow_coordination.planning.shards.position import TRIM_HORIZON, Position, Start
from airflow_coordination.planning.shards.shard import Shard, by_id
from airflow_coordination.values.input_errors import InvalidInputError

__all__ = ["ShardEnd", "at_shard_end"]


@dataclass(frozen=True, slots=True)
class NewLease:
    """A lease to create.

    :param shard: the shard's id.
    :param position: where it begins to read.
    :param parents: the listed parents that have a lease, or get one in the same plan; it waits for them.
    """

    shard: str
    position: Position
    parents: tuple[str, ...] = ()


def first(listing: Iterable[Shard], position: Position, instant: int | None = None) -> list[NewLease]:
    """Return the leases of a stream that has none yet: one for each shard that is alive at the position.

    Source: KCL, ``EmptyLeaseTableSynchronizer``; closed shards included, their children come at their end. Creating
    only a first part of it is harmless: :func:`plan` finds the rest.

    :param listing: every shard of the stream, or those that the source itself lists as alive at the position (Kinesis:
        the ``ShardFilter`` AT_TRIM_HORIZON, AT_LATEST or AT_TIMESTAMP).
    :param instant: an AT_TIMESTAMP on the scale of the shards' ``start`` and ``end``; ``None`` where that is unknown
        and the listing is filtered by its source, which Kinesis is: its shards have sequence numbers and no times.
    :return: in the order in which to create them.
    :raises InvalidInputError: when the listing has an id twice or a circle, or ``instant`` does not go with the
        position.
    """
    lineage = Lineage.of(listing)
    if instant is not None and position.start is not Start.AT_TIMESTAMP:
        raise InvalidInputError("instant", instant, f"does not go with {position.start}", "Leave it out.")
    alive = {one.id for one in lineage.shards.values() if _alive(lineage, one, position.start, instant)}
    return [NewLease(one.id, position, _those(lineage, one, alive)) for one in lineage.in_order(alive)]


def _alive(lineage: Lineage, shard: Shard, start: Start, instant: int | None) -> bool:
    """Tell whether the shard has, or can get, records at the position, and no ancestor leads to it from there."""
    above = [lineage.shards[parent] for parent in lineage.parents[shard.id]]
    if start is Start.LATEST:
        return shard.is_open
    if start is Start.TRIM_HORIZON:
        return not above
    return instant is None or (_lasts(shard, instant) and not any(_lasts(parent, instant) for parent in above))


def _lasts(shard: Shard, instant: int) -> bool:
    return shard.end is None or instant <= shard.end


def plan(
    listing: Iterable[Shard],
    leased: Mapping[str, bool],
    position: Position,
    *,
    ignore_unexpected_child_shards: bool = False,
) -> list[NewLease]:
    """Return the leases to create so that sooner or later every open shard is read, and nothing is read again.

    * A shard with a leased descendant is *passed*: it is never started, and as good as finished.
    * A shard is *covered* when it has a lease, or a lease on an ancestor will lead to it.
    * An open shard without a lease gets one when it is its turn: all parents that are not passed are finished.
      Otherwise its uncovered ancestors get theirs first; at LATEST an uncovered shard is started itself.

    The plan changes nothing that is there, so creating it twice, or only a first part of it, is harmless.

    :param listing: every shard of the stream, not filtered.
    :param leased: of every shard with a lease, whether it is finished; also of those that the listing lacks.
    :param position: for what no lease leads to.
    :param ignore_unexpected_child_shards: leave open shards of open parents out instead of raising (KCL: the same).
    :return: in the order in which to create them: by start, then by id as text.
    :raises InconsistentListingError: when open shards have an open parent.
    :raises InvalidInputError: when the listing has an id twice, or a circle.
    """
    lineage = Lineage.of(listing)
    odd = lineage.inconsistent
    if odd and not ignore_unexpected_child_shards:
        raise InconsistentListingError(odd)
    planner = _Planner(lineage, leased, position)
    for shard in lineage.in_order():
        if shard.is_open and shard.id not in odd:
            planner.lead_to(shard.id)
    return planner.new_leases()


def _those(lineage: Lineage, shard: Shard, names: Iterable[str]) -> tuple[str, ...]:
    wanted = set(names)
    return tuple(parent for parent in lineage.parents[shard.id] if parent in wanted)


@dataclass
class _Planner:
    """What is found out about each shard, and what is to be created."""

    lineage: Lineage
    leased: Mapping[str, bool]
    position: Position
    new: dict[str, Position] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._passed = self.lineage.ancestors(self.leased) - self.leased.keys()
        self._covered = self._find_covered()
        self._seen = set[str]()

    def _find_covered(self) -> set[str]:
        covered = set[str]()
        for name in self.lineage.shards:  # parents come before children
            if name in self.leased or (name not in self._passed and covered.intersection(self.lineage.parents[name])):
                covered.add(name)
        return covered

    def lead_to(self, name: str) -> None:
        """Make sure that a lease leads to a shard, or that it gets one."""
        todo = [name]
        while todo:
            if (one := todo.pop()) not in self._seen:
                self._seen.add(one)
                todo += self._look_at(one)

    def _look_at(self, name: str) -> tuple[str, ...]:
        """Plan a lease for a shard if it is its turn; otherwise return the parents whose turn is before it."""
        if name in self.leased or name in self._passed:  # an old listing may have a passed shard still open
            return ()
        above = tuple(parent for parent in self.lineage.parents[name] if parent not in self._passed)
        led = not self._covered.isdisjoint(above)
        if led and all(self.leased.get(parent, False) for parent in above):
            self.new[name] = self.position.of_descendants
        elif led or (above and self.position.start is not Start.LATEST):
            return above
        else:
            self.new[name] = self.position
        return ()

    def new_leases(self) -> list[NewLease]:
        """Return what is planned, in order."""
        there = self.leased.keys() | self.new.keys()
        return [
            NewLease(one.id, self.new[one.id], _those(self.lineage, one, there))
            for one in self.lineage.in_order(self.new)
        ]


@dataclass(frozen=True, slots=True)
class ShardEnd:
    """What to do.

    :param create: these leases first, in this order.
    :param complete: then complete the lease; ``False``: the shard is not finished, or the lease is somebody else's.
    """

    create: tuple[NewLease, ...] = ()
    complete: bool = False


def at_shard_end(
    children: Iterable[Shard],
    leased: Collection[str],
    position: Position = TRIM_HORIZON,
    *,
    read_to_end: bool = True,
    held: bool = True,
) -> ShardEnd:
    """Return what the holder of a lease does when its source says that the shard ends here.

    It creates the children that can be created, blocked by their parents, and completes. It never waits for a child:
    the child of a merge whose other parent has no lease is left to the next
    :func:`~airflow_coordination.planning.shards.plan.plan`, which starts the missing parent first. Source: KCL,
    ``ShutdownTask``; there such a lease is tried again for ever and cannot end.

    :param children: what the source lists as the shard's children, with *all* their parents (Kinesis: ``ChildShards``);
        empty where it lists none, then the next plan finds them. Empty also where leases are missing that others wait
        for, as after an old backup: only a plan sees the whole lineage.
    :param leased: every shard that has a lease, finished or not, the ending one among them.
    :param position: where the ending lease itself began. Its children begin at their first record, but never before an
        AT_TIMESTAMP (the KCL's always begin at TRIM_HORIZON, and read what came before the time).
    :param read_to_end: whether everything up to the end is saved; otherwise nothing is done.
    :param held: whether the lease is still the caller's own; the store's fence says so once more.
    :raises InvalidInputError: when a child is there twice.
    """
    if not (read_to_end and held):
        return ShardEnd()
    there = frozenset(leased)
    wanted = [one for one in by_id(children).values() if one.id not in there and there.issuperset(one.parents)]
    wanted.sort(key=lambda one: one.place)
    return ShardEnd(tuple(NewLease(one.id, position.of_descendants, one.parents) for one in wanted), complete=True)
