"""A place for copies, which of several gets the next one, and in which order it does what it was asked for."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from typing import Final

from airflow_coordination.planning.copies.grace import counts
from airflow_coordination.planning.intervals import Interval, newest_first
from airflow_coordination.planning.rules.rule import DEFAULT_TIER
from airflow_coordination.values.input_errors import InvalidInputError

_NO_GRACE: Final = timedelta(0)


@dataclass(frozen=True, slots=True)
class Copyable:
    """What can be copied: all that an interval shows (Druid: a segment).

    :param name: what tells it from all others.
    :param bytes: how much room it takes.
    """

    name: Hashable
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Location:
    """A place for copies (Druid: a historical process).

    :param name: its name.
    :param tier: the tier it belongs to.
    :param capacity: bytes it has room for, above zero.
    :param used: bytes of what lies there.
    :param holds: the names of what lies there.
    :param draining: whether it gets nothing more, and what it has goes elsewhere first.
    :param lost_since: since when it cannot be read.
    :raises InvalidInputError: when it has no room at all, or less than nothing is used.
    """

    name: str
    tier: str = DEFAULT_TIER
    capacity: int = 1
    used: int = 0
    holds: frozenset[Hashable] = field(default_factory=frozenset)
    draining: bool = False
    lost_since: datetime | None = None

    def __post_init__(self) -> None:
        if self.capacity < 1:
            problem = "is no room"
            raise InvalidInputError(f"location[{self.name}].capacity", self.capacity, problem, "Give bytes above zero")
        if self.used < 0:
            raise InvalidInputError(
                f"location[{self.name}].used", self.used, "is negative", "Give the sum of its copies"
            )

    @property
    def utilisation(self) -> Fraction:
        """Which part of its room is used, exactly: near a threshold a rounded one would move what need not."""
        return Fraction(self.used, self.capacity)

    def takes(self, one: Copyable) -> bool:
        """Tell whether a copy can be made here: there is room, none is here, and it is neither draining nor lost."""
        open_for_more = not self.draining and self.lost_since is None
        return open_for_more and one.name not in self.holds and self.used + one.bytes <= self.capacity

    def has(self, one: Copyable, now: datetime, grace: timedelta = _NO_GRACE) -> bool:
        """Tell whether it counts as having a copy; within the grace also while it cannot be read."""
        return one.name in self.holds and (self.lost_since is None or counts(self.lost_since, grace, now))

    def with_copy(self, one: Copyable) -> Location:
        """Return it with one copy more."""
        return _changed(self, self.used + one.bytes, self.holds | {one.name})

    def without_copy(self, one: Copyable) -> Location:
        """Return it without a copy that it has."""
        return _changed(self, max(0, self.used - one.bytes), self.holds - {one.name})


def _changed(one: Location, used: int, holds: frozenset[Hashable]) -> Location:
    return Location(one.name, one.tier, one.capacity, used, holds, one.draining, one.lost_since)


def named(locations: Iterable[Location]) -> dict[str, Location]:
    """Return locations by their names.

    :raises InvalidInputError: when two have one name.
    """
    found: dict[str, Location] = {}
    for one in locations:
        if found.setdefault(one.name, one) is not one:
            raise InvalidInputError("location.name", one.name, "is there twice", "Give each location a name of its own")
    return found


def least_used(locations: Collection[Location], one: Copyable) -> Location | None:
    """Return the least utilised location that can take it; ``None`` if none can.

    The seed says "least capacity first"; only least *utilised*, looked at anew after each assignment, balances.
    """
    return min(
        (each for each in locations if each.takes(one)), key=lambda each: (each.utilisation, each.name), default=None
    )


def assign(copies: Iterable[Copyable], locations: Iterable[Location]) -> tuple[dict[str, Location], list[Copyable]]:
    """Return the locations after each has been given to the least used one, and what no location could take.

    :raises InvalidInputError: when two locations have one name.
    """
    there, waiting = named(locations), []
    for one in copies:
        found = least_used(there.values(), one)
        if found is None:
            waiting.append(one)
        else:
            there[found.name] = found.with_copy(one)
    return there, waiting


class Action(StrEnum):
    """What a location can be asked for, the most urgent first."""

    DROP = "DROP"
    LOAD = "LOAD"
    REPLICATE = "REPLICATE"
    MOVE_TO = "MOVE_TO"


_ORDER: Final = {action: number for number, action in enumerate(Action)}


def in_order(asked: Iterable[tuple[Action, Interval]]) -> list[tuple[Action, Interval]]:
    """Return what a location was asked for in the order in which it is done: room first, then the newest, moves last.

    Source: Druid, ``SegmentHolder.COMPARE_ACTION_THEN_INTERVAL``.
    """
    return sorted(asked, key=lambda one: (_ORDER[one[0]], newest_first(one[1])))
