"""Which copies to make and to drop, so that every interval has what its rule wants.

Source: Druid's ``RunRules`` with ``StrategicSegmentAssigner``: the newest first; the first copy of something is never
held back, further ones are; nothing is dropped before what replaces it is there, and drops are never held back.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Final

from airflow_coordination.planning.copies.location import Copyable, Location, least_used, named
from airflow_coordination.planning.intervals import Interval, newest_first
from airflow_coordination.planning.rules.choosing import choose
from airflow_coordination.planning.rules.rule import Rule

_EXAMPLES: Final = 10


@dataclass(frozen=True, slots=True)
class Placed:
    """An interval that rules decide about.

    :param interval: the interval.
    :param copy: what of it is copied.
    :param rules: those of its dataset; ``None`` for those that decide about everything.
    """

    interval: Interval
    copy: Copyable
    rules: Sequence[Rule] | None = None


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy to make, or to drop.

    :param name: of what.
    :param location: where.
    :param tier: the location's tier.
    :param is_first: whether there is no other copy of it.
    """

    name: Hashable
    location: str
    tier: str
    is_first: bool = False


@dataclass(slots=True)
class Placement:
    """What a run does.

    :param make: copies to make, in their order.
    :param drop: copies to drop, before the others are made.
    :param hide: what a rule drops: the names of intervals that nobody shall see any more.
    :param unmatched: what no rule applies to; it is left as it is.
    :param no_such_tier: tiers that rules name and that have no location, and for how many intervals.
    :param waiting: what a tier has no room for now.
    :param required: bytes that each tier must have room for.
    """

    make: list[Copy] = field(default_factory=list)
    drop: list[Copy] = field(default_factory=list)
    hide: list[Hashable] = field(default_factory=list)
    unmatched: list[Hashable] = field(default_factory=list)
    no_such_tier: dict[str, int] = field(default_factory=dict)
    waiting: list[tuple[str, Hashable]] = field(default_factory=list)
    required: dict[str, int] = field(default_factory=dict)

    @property
    def warnings(self) -> list[str]:
        """What somebody should look at: one line for each kind, with ten examples at most."""
        found = [
            f"tier {tier!r} has no location; {count} intervals want copies there"
            for tier, count in self.no_such_tier.items()
        ]
        if self.unmatched:
            examples = ", ".join(str(one) for one in self.unmatched[:_EXAMPLES])
            found.append(f"no rule applies to {len(self.unmatched)} intervals, such as {examples}")
        return found


def place(
    placed: Iterable[Placed],
    rules: Sequence[Rule],
    locations: Iterable[Location],
    now: datetime,
    *,
    most_further: int | None = None,
    grace: timedelta = timedelta(0),
    made_at: Mapping[tuple[Hashable, str], float] | None = None,
) -> Placement:
    """Return what to do.

    :param placed: what shows; nothing that is overshadowed.
    :param most_further: the most copies beside first ones that are made at once; ``None`` for no limit.
    :param grace: how long copies in a lost location count as there.
    :param made_at: when copies were made, by what and where, as far as it is known: of what is too much the older go.
    :raises InvalidInputError: when two locations have one name.
    """
    run = _Run(named(locations), now, grace, most_further, made_at or {})
    for one in sorted(placed, key=lambda each: newest_first(each.interval)):
        rule = choose(rules if one.rules is None else one.rules, one.interval, now).rule
        if rule is None:
            run.plan.unmatched.append(one.copy.name)
        elif rule.type.drops:
            run.plan.hide.append(one.copy.name)
            run.drop(one.copy, {})
        else:
            run.settle(one.copy, rule.tiers if rule.type.loads else run.everywhere())
    return run.plan


class _Run:
    """The locations as they will be, while one interval after the other is settled."""

    def __init__(
        self,
        locations: dict[str, Location],
        now: datetime,
        grace: timedelta,
        most_further: int | None,
        made_at: Mapping[tuple[Hashable, str], float],
    ) -> None:
        self.there, self.now, self.grace, self.further = locations, now, grace, most_further
        self.made_at = made_at
        self.plan = Placement()

    def everywhere(self) -> dict[str, int]:
        """Return what a broadcast wants: one copy in each location that stays."""
        tiers = [one.tier for one in self.there.values() if not one.draining]
        return {tier: tiers.count(tier) for tier in sorted(set(tiers))}

    def settle(self, one: Copyable, wanted: Mapping[str, int]) -> None:
        """Drop what is too much, counted before anything is made, and make what is too little."""
        self.drop(one, wanted)
        for tier, replicas in wanted.items():
            self.plan.required[tier] = self.plan.required.get(tier, 0) + replicas * one.bytes
            if replicas and not any(each.tier == tier for each in self.there.values()):
                self.plan.no_such_tier[tier] = self.plan.no_such_tier.get(tier, 0) + 1
                continue
            for _ in range(replicas - sum(not each.draining for each in self.holders(one, tier))):
                if not self.make(one, tier):
                    break

    def holders(self, one: Copyable, tier: str | None = None) -> list[Location]:
        """Return where copies count as there, in a tier or anywhere."""
        there = [each for each in self.there.values() if tier in (None, each.tier)]
        return [each for each in there if each.has(one, self.now, self.grace)]

    def make(self, one: Copyable, tier: str) -> bool:
        """Make one copy in the least used location; tell whether it could be."""
        is_first = not self.holders(one)
        if not is_first and self.further == 0:
            return False
        found = least_used([each for each in self.there.values() if each.tier == tier], one)
        if found is None:
            self.plan.waiting.append((tier, one.name))
            return False
        if not is_first and self.further is not None:
            self.further -= 1
        self.there[found.name] = found.with_copy(one)
        self.plan.make.append(Copy(one.name, found.name, tier, is_first))
        return True

    def drop(self, one: Copyable, wanted: Mapping[str, int]) -> None:
        """Drop what a tier has too much of, but never more than there are more than all tiers want together."""
        holders = self.holders(one)
        spare = len(holders) - sum(wanted.values())
        for location in sorted(holders, key=lambda each: self._goes_first(one, each)):
            in_tier = len(self.holders(one, location.tier))
            if location.lost_since is None and spare > 0 and in_tier > wanted.get(location.tier, 0):
                spare -= 1
                self.there[location.name] = location.without_copy(one)
                self.plan.drop.append(Copy(one.name, location.name, location.tier))

    def _goes_first(self, one: Copyable, each: Location) -> tuple[bool, float, Fraction, str]:
        return not each.draining, self.made_at.get((one.name, each.name), 0.0), -each.utilisation, each.name


def seen_twice(drops: Iterable[Copy], before: Iterable[Copy]) -> list[Copy]:
    """Return the drops that the run before has seen, too: only those are done."""
    known = {(one.name, one.location) for one in before}
    return [one for one in drops if (one.name, one.location) in known]
