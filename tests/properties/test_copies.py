"""Copies run after run: what is wanted comes to be there, nothing is lost on the way, and nothing goes to and fro."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.copies.balance import difference
from airflow_coordination.planning.copies.deciding import Chunk, Drop, Look, Name, There, balance, drops, loads
from airflow_coordination.planning.copies.location import Location
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.rules.reading import read_rules

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GRACE = timedelta(minutes=15)
TIERS = ("hot", "cold")
MOST_RUNS = 80


def day(number: int) -> Name:
    start = NOW - timedelta(days=number)
    return "flights", "clean", Interval(start, start + timedelta(days=1))


@dataclass
class World:
    """Locations with copies, as the duties change them; what was asked for is made at once."""

    locations: list[Location]
    chunks: list[Chunk]
    copies: dict[tuple[Name, str], There]
    seen: frozenset[tuple[Name, str]] = frozenset()
    clock: int = 100

    def look(self) -> Look:
        return Look(
            chunks=self.chunks,
            copies=list(self.copies.values()),
            locations=self.locations,
            now=NOW,
            sources={"flights"},
            locked=lambda name: any(chunk.locked for chunk in self.chunks if chunk.name == name),
        )

    def fresh(self, name: Name, tier: str | None = None) -> int:
        places = {one.name for one in self.locations if one.lost_since is None and tier in (None, one.tier)}
        return sum(copy.fresh and copy.location in places for (each, _), copy in self.copies.items() if each == name)

    def load(self, further: int) -> int:
        found = loads(self.look(), GRACE, further)
        for copy in (*found.make, *found.renew):
            self.made(copy.name, copy.location)
        return len(found.make) + len(found.renew)

    def made(self, name: Name, location: str, instead_of: str | None = None) -> None:
        self.clock += 1
        [size] = [chunk.bytes for chunk in self.chunks if chunk.name == name]
        self.copies[name, location] = There(
            name=name,
            location=location,
            bytes=size,
            published=True,
            fresh=True,
            made_at=self.clock,
            instead_of=instead_of,
        )

    def unload(self) -> list[Drop]:
        found = drops(self.look())
        done = [drop for drop in found if (drop.name, drop.location) in self.seen]
        self.seen = frozenset((drop.name, drop.location) for drop in found)
        for drop in done:
            for relied in drop.relies_on:
                assert relied in self.copies
            del self.copies[drop.name, drop.location]
        return done

    def move(self, seed: int) -> int:
        found = balance(self.look(), seed, threshold=3, most=5)
        for move in found.moves:
            self.made(move.copy.name, move.target, move.source)
        return len(found.moves)

    def spread(self, tier: str) -> float:
        row = [one.utilisation for one in self.look().filled(lambda _: True) if one.tier == tier and _takes_part(one)]
        return difference(max(row), min(row)) if row else 0


def _takes_part(one: Location) -> bool:
    return not one.draining and one.lost_since is None


@st.composite
def worlds(draw, *, least: int = 20, most: int = 60) -> World:
    kinds = st.sampled_from(["there", "there", "there", "draining", "lost", "lost long ago"])
    locations = []
    for number in range(draw(st.integers(1, 6))):
        kind = draw(kinds)
        lost = {"lost": NOW - GRACE / 2, "lost long ago": NOW - 2 * GRACE}.get(kind)
        tier = draw(st.sampled_from(TIERS))
        locations.append(
            Location(f"l{number}", tier, draw(st.integers(least, most)), draining=kind == "draining", lost_since=lost)
        )
    wanted = {tier: draw(st.integers(0, 2)) for tier in TIERS}
    rules = read_rules("rules", [{"type": "loadForever", "tieredReplicants": wanted}])
    chunks = [
        Chunk(name=day(number), bytes=draw(st.integers(0, 9)), rules=rules, locked=draw(st.integers(0, 9)) == 0)
        for number in range(1, draw(st.integers(1, 6)))
    ]
    copies = {}
    for number in range(1, 8):  # some of chunks that show no more
        for one in locations:
            if draw(st.booleans()):
                fresh = draw(st.booleans()) and number <= len(chunks)
                size = draw(st.integers(0, 5))
                copies[day(number), one.name] = There(
                    name=day(number), location=one.name, bytes=size, published=True, fresh=fresh, made_at=number
                )
    return World(locations, chunks, copies)


@given(worlds(), st.integers(0, 3), st.integers(0, 1000))
def test_no_run_makes_it_worse_and_runs_come_to_an_end(world: World, further: int, seed: int) -> None:
    """Never fewer copies that can be read than before or than wanted; at last nothing is left to do."""
    quiet = 0
    for run in range(MOST_RUNS):
        before = {chunk.name: world.fresh(chunk.name) for chunk in world.chunks}
        did = world.load(further)
        did += len(world.unload())
        did += world.move(seed + run)
        for chunk in world.chunks:
            wanted = sum(chunk.rules[0].tiers.values())
            assert world.fresh(chunk.name) >= min(before[chunk.name], wanted)
        quiet = 0 if did else quiet + 1
        if quiet == 2:  # a drop is done when it was seen twice
            return
    pytest.fail("it goes to and fro")


@given(worlds(least=10_000, most=10_000), st.integers(0, 3))
def test_what_is_wanted_comes_to_be_there_where_there_is_room(world: World, seed: int) -> None:
    for run in range(MOST_RUNS):
        if not world.load(500) + len(world.unload()) + world.move(seed + run) and run > 2:
            break
    for chunk in (each for each in world.chunks if not each.locked):
        for tier, replicas in chunk.rules[0].tiers.items():
            row = [one for one in world.locations if one.tier == tier]
            open_ones = [one for one in row if _takes_part(one)]
            in_grace = [
                one
                for one in row
                if one.lost_since is not None
                and NOW - one.lost_since < GRACE
                and (chunk.name, one.name) in world.copies
                and not one.draining
            ]
            assert world.fresh(chunk.name, tier) >= min(replicas, len(open_ones)) - len(in_grace)


@given(worlds(), st.integers(0, 1000))
def test_balancing_makes_tiers_more_alike_is_bounded_and_ends(world: World, seed: int) -> None:
    """Moves alone, each done whole: the copy is made, then the one that it replaces is dropped."""
    for run in range(MOST_RUNS):
        before = {tier: world.spread(tier) for tier in TIERS}
        found = balance(world.look(), seed + run, threshold=3, most=5)
        assert len(found.moves) <= 5 * len(TIERS)
        for move in found.moves:
            world.made(move.copy.name, move.target, move.source)
        assert balance(world.look(), seed).moves == () or not found.moves
        for move in found.moves:
            del world.copies[move.copy.name, move.source]
        for tier in TIERS:
            there = [one for one in world.locations if one.tier == tier and _takes_part(one)]
            if len(there) == 2:  # of more, only the most and the least used one are looked at
                assert world.spread(tier) <= before[tier]
        if not found.moves:
            return
    pytest.fail("it goes to and fro")


def test_nothing_used_is_balanced() -> None:
    locations = [Location("a", "hot", 10), Location("b", "hot", 10)]
    assert World(locations, [], {}).move(1) == 0


@given(worlds())
def test_what_is_locked_is_neither_made_nor_dropped_nor_moved(world: World) -> None:
    world.chunks = [replace(chunk, locked=True) for chunk in world.chunks]
    names = {chunk.name for chunk in world.chunks}
    before = {place: copy for place, copy in world.copies.items() if place[0] in names}
    for run in range(3):
        assert world.load(500) == 0
        world.unload()
        assert world.move(run) == 0
    assert {place: copy for place, copy in world.copies.items() if place[0] in names} == before
