"""What the duties decide about copies, from one look at everything: which to make, to renew, to drop and to move.

Of what is there, a copy is *fresh* when it has all that readers see of its chunk, and *pending* when it was asked for.
Only fresh ones that can be read now are relied on when others are dropped: so the new are there before the old go.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from airflow_coordination.planning.copies.balance import MOST_MOVES, THRESHOLD, Move, moves
from airflow_coordination.planning.copies.location import Copyable, Location, named
from airflow_coordination.planning.copies.placement import Copy, Placed, Placement, place
from airflow_coordination.planning.intervals import Interval, newest_first
from airflow_coordination.planning.rules.choosing import choose
from airflow_coordination.planning.rules.rule import Rule

Name = tuple[str, str, Interval]
"""What tells a chunk from all others: its source, its dataset and its interval."""
_NO_GRACE: Final = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """What readers see of an interval of a dataset; it is copied as a whole.

    :param name: what tells it from all others.
    :param bytes: how many a copy of it takes.
    :param rules: those of its dataset.
    :param locked: whether a branch has begun in it, so that all of it is about to be replaced.
    :param timed: whether something of it has an interval; otherwise its name is that of all times, and it takes the
        place of nothing else.
    """

    name: Name
    bytes: int
    rules: Sequence[Rule]
    locked: bool = False
    timed: bool = True

    @property
    def interval(self) -> Interval:
        """The interval."""
        return self.name[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class There:
    """A copy that is published, or was asked for.

    :param name: of what.
    :param location: where, by name.
    :param bytes: how many it has; 0 while nothing of it is published.
    :param asked: about how many it will have, while it is pending.
    :param published: whether it is.
    :param fresh: whether it has all that readers see of its chunk.
    :param pending: whether it was asked for and is not done yet.
    :param made_at: when it was published, in seconds.
    :param instead_of: the location whose copy goes afterwards, if it is a move.
    :param timed: whether it has something that has an interval now: one of all times may have had the whole dataset.
    """

    name: Name
    location: str
    bytes: int = 0
    asked: int = 0
    published: bool = False
    fresh: bool = False
    pending: bool = False
    made_at: float = 0.0
    instead_of: str | None = None
    timed: bool = True


@dataclass(frozen=True, kw_only=True)
class Look:
    """Everything as it was seen at once.

    :param chunks: of the sources that were looked at.
    :param copies: of all sources, because all take room.
    :param locations: with nothing in them; what they have is counted here.
    :param now: the store's clock.
    :param sources: the names of those that were looked at: of others nothing is decided.
    :param locked: tells whether a branch has begun somewhere in a chunk, also where there is none now.
    """

    chunks: Sequence[Chunk]
    copies: Sequence[There]
    locations: Sequence[Location]
    now: datetime
    sources: Collection[str]
    locked: Callable[[Name], bool] = lambda _: False

    @cached_property
    def by_name(self) -> dict[Name, Chunk]:
        """The chunks by their names."""
        return {chunk.name: chunk for chunk in self.chunks}

    def filled(self, holds: Callable[[There], bool]) -> list[Location]:
        """Return the locations with what they use, and what they hold of it.

        :param holds: whether a copy counts as held.
        """
        used: dict[str, int] = {}
        held: dict[str, set[Name]] = {}
        for copy in self.copies:
            used[copy.location] = used.get(copy.location, 0) + copy.bytes + (copy.asked if copy.pending else 0)
            if holds(copy):
                held.setdefault(copy.location, set()).add(copy.name)
        return [
            replace(one, used=used.get(one.name, 0), holds=frozenset(held.get(one.name, ()))) for one in self.locations
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """What is to be made.

    :param make: copies to make, in their order.
    :param renew: copies to make anew where they are, because something of their chunk was replaced.
    :param waiting: what a tier has no room for now.
    :param unmatched: chunks of which no rule says anything.
    :param no_such_tier: tiers that rules name and that have no location, and for how many chunks.
    """

    make: tuple[Copy, ...] = ()
    renew: tuple[Copy, ...] = ()
    waiting: tuple[tuple[str, Name], ...] = ()
    unmatched: tuple[Name, ...] = ()
    no_such_tier: Mapping[str, int] = field(default_factory=dict)


def loads(look: Look, grace: timedelta, most_further: int) -> Loads:
    """Return which copies are made now: the newest first, the first one of a chunk never held back.

    :param grace: how long copies in a location that cannot be read count as there.
    :param most_further: the most copies beside first ones (``replicationThrottleLimit``).
    """
    chunks = look.by_name
    locations = look.filled(lambda copy: copy.name in chunks and (copy.pending or copy.published))
    placed = [_placed(chunk) for chunk in look.chunks if not chunk.locked]
    plan = place(placed, (), locations, look.now, most_further=most_further, grace=grace)
    further = most_further - sum(not copy.is_first for copy in plan.make)
    renew, full = _renewed(look, locations, plan, further)
    return Loads(
        make=tuple(plan.make),
        renew=tuple(renew),
        waiting=(*_named(plan.waiting), *full),
        unmatched=tuple(name for name in plan.unmatched if isinstance(name, tuple)),
        no_such_tier=plan.no_such_tier,
    )


def _named(waiting: Iterable[tuple[str, object]]) -> Iterator[tuple[str, Name]]:
    for tier, name in waiting:
        assert isinstance(name, tuple)  # as all of them, see _placed
        yield tier, name


def _placed(chunk: Chunk) -> Placed:
    return Placed(chunk.interval, Copyable(chunk.name, chunk.bytes), chunk.rules)


def _renewed(
    look: Look, locations: Sequence[Location], plan: Placement, further: int
) -> tuple[list[Copy], list[tuple[str, Name]]]:
    """Return the copies to make anew where they are, and those for which there is no room beside what is there."""
    there, chunks = named(locations), look.by_name
    too_much = {(copy.name, copy.location) for copy in plan.drop} | {(name, "") for name in plan.hide}
    made: dict[str, int] = {}
    sizes: dict[object, int] = {chunk.name: chunk.bytes for chunk in look.chunks}
    for each in plan.make:
        made[each.location] = made.get(each.location, 0) + sizes[each.name]
    fresh = {copy.name for copy in look.copies if copy.fresh}
    stale = [copy for copy in look.copies if copy.published and not copy.fresh and not copy.pending]
    renew: list[Copy] = []
    full: list[tuple[str, Name]] = []
    for copy in sorted(stale, key=lambda one: (*newest_first(one.name[2]), one.location)):
        chunk, location = chunks.get(copy.name), there.get(copy.location)
        if chunk is None or location is None or chunk.locked or location.draining or location.lost_since is not None:
            continue
        if (copy.name, copy.location) in too_much or (copy.name, "") in too_much or copy.name in plan.unmatched:
            continue
        if location.used + made.get(location.name, 0) + chunk.bytes > location.capacity:
            full.append((location.tier, copy.name))
            continue
        if copy.name in fresh:
            if further < 1:
                continue
            further -= 1
        made[location.name] = made.get(location.name, 0) + chunk.bytes
        renew.append(Copy(copy.name, location.name, location.tier, copy.name not in fresh))
    return renew, full


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A copy to drop.

    :param name: of what.
    :param location: where.
    :param why: for people.
    :param relies_on: what has to stay for that: chunks, and the locations whose copies of them stay.
    """

    name: Name
    location: str
    why: str
    relies_on: tuple[tuple[Name, str], ...] = ()


def drops(look: Look) -> list[Drop]:
    """Return which copies are too much: hidden, replaced or not asked for, once what replaces them is there.

    What lies in a location that cannot be read is left, and relied on for nothing.
    """
    there = [one for one in look.locations if one.lost_since is None]
    readable = named(there)
    fresh = {copy for copy in look.copies if copy.fresh and copy.location in readable}
    found = list(_too_much(look, fresh, set(readable)))
    going = {(drop.name, drop.location) for drop in found}
    staying = {copy for copy in fresh if (copy.name, copy.location) not in going}
    return [*found, *_needless(look, staying, readable, going)]


def _too_much(look: Look, fresh: Collection[There], readable: Collection[str]) -> Iterator[Drop]:
    """Yield what rules want less of."""
    locations = [one for one in look.filled(lambda copy: copy in fresh) if one.name in readable]
    placed = [_placed(chunk) for chunk in look.chunks if not chunk.locked]
    made_at: dict[tuple[Hashable, str], float] = {(copy.name, copy.location): copy.made_at for copy in fresh}
    plan = place(placed, (), locations, look.now, most_further=0, made_at=made_at)
    going = {(copy.name, copy.location) for copy in plan.drop}
    staying: dict[Name, list[tuple[Name, str]]] = {}
    for copy in fresh:
        if (copy.name, copy.location) not in going:
            staying.setdefault(copy.name, []).append((copy.name, copy.location))
    for drop in plan.drop:
        name = drop.name
        assert isinstance(name, tuple)
        hidden = name in plan.hide
        why = "a rule drops its chunk" if hidden else "there are more copies than rules want"
        yield Drop(
            name=name, location=drop.location, why=why, relies_on=() if hidden else tuple(sorted(staying.get(name, ())))
        )


def _needless(
    look: Look, fresh: Collection[There], readable: Mapping[str, Location], going: Collection[tuple[Name, str]]
) -> Iterator[Drop]:
    """Yield what has not all that shows of its chunk, or whose chunk or location is none any more."""
    chunks, known, row = look.by_name, {one.name for one in look.locations}, _Row(look.chunks)
    holders: dict[Name, list[str]] = {}
    for copy in fresh:
        holders.setdefault(copy.name, []).append(copy.location)
    for copy in look.copies:
        unknown = copy.location not in known
        if not copy.published or copy.pending or copy.name[0] not in look.sources:
            continue
        if copy in fresh or (copy.name, copy.location) in going or not (unknown or copy.location in readable):
            continue
        if look.locked(copy.name):
            continue
        instead = row.instead_of(copy, chunks.get(copy.name))
        held = [_settled(each, holders.get(each.name, ()), readable, look.now) for each in instead]
        if any(each is None for each in held):
            continue
        why = "its location is left out" if unknown else "something of its chunk was replaced"
        if not instead:
            why = "nothing of its chunk shows"
        relied = tuple(sorted({one for each in held for one in each or ()}))
        yield Drop(name=copy.name, location=copy.location, why=why, relies_on=relied)


class _Row:
    """The chunks of each dataset by their time; no two of a dataset overlap, without that of what has no interval."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._rows: dict[tuple[str, str], list[Chunk]] = {}
        for chunk in sorted(chunks, key=lambda each: each.interval):
            if chunk.timed:
                self._rows.setdefault(chunk.name[:2], []).append(chunk)

    def instead_of(self, copy: There, own: Chunk | None) -> list[Chunk]:
        """Return the chunks that have what shows of a copy now: its own, and those of its time where that has nothing.

        :param own: the chunk of its name; ``None`` where there is none any more.
        """
        found = [own] if own is not None else []
        if not copy.timed or (own is not None and own.timed):
            return found
        row, interval = self._rows.get(copy.name[:2], []), copy.name[2]
        first = bisect_right(row, interval.start, key=lambda each: each.interval.end)
        last = bisect_left(row, interval.end, key=lambda each: each.interval.start)
        return found + row[first:last]


def _settled(
    chunk: Chunk, holders: Collection[str], readable: Mapping[str, Location], now: datetime
) -> list[tuple[Name, str]] | None:
    """Return the copies that a chunk has where all that rules want of it is there; ``None`` where it is not.

    :param holders: the locations that have it.
    """
    rule = choose(chunk.rules, chunk.interval, now).rule
    if chunk.locked or rule is None:
        return None
    if rule.type.drops:
        return []
    open_ones = [one for one in readable.values() if not one.draining]
    wanted = rule.tiers if rule.type.loads else {one.tier: len(open_ones) for one in open_ones}
    for tier, replicas in wanted.items():
        places = {one.name for one in open_ones if one.tier == tier}
        if len(places.intersection(holders)) < min(replicas, len(places)):
            return None
    return [(chunk.name, location) for location in holders]


@dataclass(frozen=True, slots=True, kw_only=True)
class Balanced:
    """What is to be moved.

    :param moves: the moves.
    :param pending: how many of earlier runs are not done, by tier: nothing is moved there.
    """

    moves: tuple[Move, ...] = ()
    pending: Mapping[str, int] = field(default_factory=dict)


def balance(look: Look, seed: int, *, threshold: float = THRESHOLD, most: int = MOST_MOVES) -> Balanced:
    """Return which copies go to a less used location of the same tier.

    :param seed: of the chance, so that a run can be told again.
    :param threshold: percent of the higher utilisation, see :data:`~.balance.THRESHOLD`.
    :param most: the most moves between two locations.
    """
    chunks, waiting = look.by_name, pending_moves(look)
    locations = look.filled(lambda copy: copy.published or copy.pending)
    found: list[Move] = []
    pending: dict[str, int] = {}
    for tier in sorted({one.tier for one in locations}):
        row = [one for one in locations if one.tier == tier]
        names = {one.name for one in row}
        pending[tier] = sum(copy.location in names for copy in waiting)
        sizes = {
            one.name: sorted(
                (
                    Copyable(copy.name, copy.bytes)
                    for copy in look.copies
                    if copy.location == one.name and _may_move(copy, chunks)
                ),
                key=str,
            )
            for one in row
        }
        found += moves(row, sizes, seed, threshold=threshold, most=most, pending=pending[tier])
    return Balanced(moves=tuple(found), pending=pending)


def _may_move(copy: There, chunks: Mapping[Name, Chunk]) -> bool:
    chunk = chunks.get(copy.name)
    return copy.fresh and not copy.pending and chunk is not None and not chunk.locked


def pending_moves(look: Look) -> list[There]:
    """Return the moves that are not done: the copy is not made, or the one that it replaces not dropped."""
    published = {(copy.name, copy.location): copy.made_at for copy in look.copies if copy.published}

    def waits(copy: There) -> bool:
        before = published.get((copy.name, copy.instead_of or ""))
        return copy.pending or (copy.published and before is not None and before <= copy.made_at)

    return [copy for copy in look.copies if copy.instead_of is not None and waits(copy)]
