"""A stream that is resharded while it is read, with leases that get lost and plans that are cut short.

What is planned comes from the real planner; stores, drivers and time are a few sets and numbers here.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from airflow_coordination.streams import (
    TRIM_HORIZON,
    Lineage,
    NewLease,
    Position,
    Shard,
    Start,
    at_shard_end,
    first,
    plan,
)

_LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


class Violation(AssertionError):
    """A promise of the planner is broken."""


class Stream:
    """Shards side by side, split and merged by chance; the oldest may be trimmed."""

    def __init__(self, chance: random.Random) -> None:
        self._chance, self.now, self.shards = chance, 1, dict[str, Shard]()
        self._side_by_side = [self._new(()) for _ in range(chance.randint(1, 5))]
        for _ in range(chance.randint(0, 12)):
            self.reshard()
        self._fresh = dict[str, Shard]()
        if chance.random() < 0.5:
            horizon = chance.randint(0, self.now)
            self.shards = {one.id: one for one in self.shards.values() if one.end is None or one.end >= horizon}

    def _new(self, parents: tuple[str, ...]) -> str:
        name = f"s{len(self.shards)}-{self.now}"
        self.shards[name] = Shard(name, parents, self.now)
        return name

    def reshard(self) -> None:
        """Split a shard, or merge two that lie side by side."""
        self.now += self._chance.randint(1, 20)
        row = self._side_by_side
        at = self._chance.randrange(len(row))
        merged = at + 1 < len(row) and self._chance.random() < 0.5
        gone = row[at : at + 2] if merged else row[at : at + 1]
        self._fresh = {name: self.shards[name] for name in gone}
        for name in gone:
            self.shards[name] = replace(self.shards[name], end=self.now - 1)
        row[at : at + len(gone)] = [self._new(tuple(gone)) for _ in range(1 if merged else 2)]

    def listing(self) -> list[Shard]:
        """Return all shards, in any order."""
        return self._chance.sample(list(self.shards.values()), len(self.shards))

    def torn_listing(self) -> list[Shard]:
        """Return all shards as a listing may have them during the latest reshard: its parents still open."""
        return list((self.shards | self._fresh).values())

    def children(self, name: str) -> list[Shard]:
        """Return what a shard became."""
        return [one for one in self.shards.values() if name in one.parents]


class Run:
    """One stream, read to its end.

    :param seed: everything that is left to chance follows from it.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.stream = Stream(self.chance)
        self.instant = self.chance.randint(1, self.stream.now)
        at = Position.at_timestamp(_LONG_AGO + timedelta(seconds=self.instant))
        latest = Position.latest(_LONG_AGO + timedelta(seconds=self.stream.now))
        self.position = self.chance.choice([TRIM_HORIZON, latest, at])
        self.leased = dict[str, bool]()
        self.waits = dict[str, set[str]]()
        self.source_tells = self.chance.random() < 0.7  # not every source lists the children of a shard
        self.lost, self.restored, self.cut_at_latest = False, False, False
        self.owed = set[str]()

    def go(self) -> None:
        """Create, read, reshard, lose and plan until nothing moves any more.

        :raises Violation: when a promise is broken.
        """
        self._begin()
        for _ in range(self.chance.randint(0, 12)):
            self._step()
        if self.chance.random() < 0.7:
            self._lose_leases()
        for _ in range(self.chance.randint(0, 8)):
            self._step()
        self._finish()
        self._look_back()

    def _begin(self) -> None:
        instant = self.instant if self.position.start is Start.AT_TIMESTAMP else None
        news = first(self.stream.listing(), self.position, instant)
        self.owed = {one.shard for one in news}
        made = self._cut(news)
        self.cut_at_latest = self.position.start is Start.LATEST and len(made) < len(news)
        self._create(made)

    def _step(self) -> None:
        if self.chance.random() < 0.3:
            self.stream.reshard()
        self._end_one()
        if self.leased and self.chance.random() < 0.5:
            self._create(self._cut(self._plan()))

    def _plan(self) -> list[NewLease]:
        if self.chance.random() < 0.8:
            return plan(self.stream.listing(), self.leased, self.position)
        torn = self.stream.torn_listing()
        odd = Lineage.of(torn).inconsistent
        news = plan(torn, self.leased, self.position, ignore_unexpected_child_shards=True)
        _must(not {one.shard for one in news} & set(odd), f"starts {odd} while a parent is open")
        return news

    def _cut(self, news: list[NewLease]) -> list[NewLease]:
        return news[: self.chance.randint(0, len(news))] if self.chance.random() < 0.3 else news

    def _create(self, news: list[NewLease]) -> None:
        lineage = Lineage.of(self.stream.shards.values())
        for new in news:
            _must(new.shard not in self.leased, f"creates {new.shard} twice")
            after = {name for name in self.leased if new.shard in lineage.ancestors([name])}
            _must(not after, f"restarts {new.shard}, an ancestor of {after}")
            _must(self.leased.keys() >= set(new.parents), f"{new.shard} waits for {new.parents}, not all leased")
            led = any(self.leased.get(parent) is not None for parent in self.stream.shards[new.shard].parents)
            wanted = self.position.of_descendants if led else self.position
            _must(new.position == wanted, f"{new.shard} begins at {new.position}, not at {wanted}")
            self.waits[new.shard] = {parent for parent in new.parents if not self.leased[parent]}
            self.leased[new.shard] = False

    def _end_one(self) -> bool:
        ready = [name for name, done in self.leased.items() if not done and not self.waits[name]]
        ready = [name for name in ready if (one := self.stream.shards.get(name)) and not one.is_open]
        if not ready:
            return False
        name = self.chance.choice(sorted(ready))
        told = self.source_tells and not self.restored
        end = at_shard_end(self.stream.children(name) if told else [], self.leased.keys(), self.position)
        self._create(self._cut(list(end.create)))
        if end.complete:
            self.leased[name] = True
            for waiting in self.waits.values():
                waiting.discard(name)
        return True

    def _lose_leases(self) -> None:
        """Lose three leases in ten: any, as an old backup does; or as people do, whom the store refuses what is waited
        for."""
        self.restored = self.chance.random() < 0.5
        awaited = set[str]() if self.restored else set().union(*self.waits.values())
        for name in [name for name in self.leased if name not in awaited and self.chance.random() < 0.3]:
            self.lost = True
            del self.leased[name], self.waits[name]
            for waiting in self.waits.values():
                waiting.discard(name)

    def _finish(self) -> None:
        for _ in range(2_000):
            if self.leased:
                news = plan(self.stream.listing(), self.leased, self.position)
            else:
                news = first(self.stream.listing(), self.position, None)
            made = self._cut(news)
            self._create(made)
            if not self._end_one() and not news:
                return
        raise Violation("it never comes to rest")

    def _look_back(self) -> None:
        shards = self.stream.shards
        without = sorted(name for name, one in shards.items() if one.is_open and name not in self.leased)
        _must(not without, f"open shards without a lease: {without}")
        stuck = sorted(name for name, done in self.leased.items() if not done and not shards[name].is_open)
        _must(not stuck, f"leases that cannot end: {stuck}")
        waiting = sorted(name for name in shards if self.waits.get(name))
        _must(not waiting, f"open shards that wait for ever: {waiting}")
        if not self.lost and not self.cut_at_latest:
            lineage = Lineage.of(shards.values())
            owed = self.owed | {name for name in shards if lineage.ancestors([name]) & self.owed}
            _must(self.leased.keys() >= owed, f"skips {sorted(owed - self.leased.keys())}")


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise Violation(what)
