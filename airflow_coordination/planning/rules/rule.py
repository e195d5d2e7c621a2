"""One rule, and which intervals it applies to.

Source: Druid. Rules that load or broadcast match what *overlaps* their interval, rules that drop what lies *inside* it:
so a month that has begun before a window is not dropped while part of it is inside (Druid issues 6387, 1362).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from airflow_coordination.planning.intervals import ETERNITY, Interval
from airflow_coordination.planning.periods import FIRST, LAST, Period
from airflow_coordination.values.input_errors import InvalidInputError

DEFAULT_TIER: Final = "_default_tier"
DEFAULT_REPLICAS: Final = MappingProxyType({DEFAULT_TIER: 2})


class RuleType(StrEnum):
    """Druid's types of rules."""

    LOAD_FOREVER = "loadForever"
    LOAD_BY_INTERVAL = "loadByInterval"
    LOAD_BY_PERIOD = "loadByPeriod"
    DROP_FOREVER = "dropForever"
    DROP_BY_INTERVAL = "dropByInterval"
    DROP_BY_PERIOD = "dropByPeriod"
    DROP_BEFORE_BY_PERIOD = "dropBeforeByPeriod"
    BROADCAST_FOREVER = "broadcastForever"
    BROADCAST_BY_INTERVAL = "broadcastByInterval"
    BROADCAST_BY_PERIOD = "broadcastByPeriod"

    @property
    def drops(self) -> bool:
        """Whether what it applies to goes."""
        return self.startswith("drop")

    @property
    def loads(self) -> bool:
        """Whether what it applies to has so many copies in each tier."""
        return self.startswith("load")

    @property
    def forever(self) -> bool:
        """Whether it applies to everything."""
        return self.endswith("Forever")

    @property
    def by_interval(self) -> bool:
        """Whether it says an interval."""
        return self.endswith("ByInterval")

    @property
    def by_period(self) -> bool:
        """Whether it says a period, which moves with the time."""
        return self.endswith("ByPeriod")


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of the intervals that it applies to.

    :param type: what it does, and how it matches.
    :param interval: of a rule by interval.
    :param period: of a rule by period; above zero.
    :param include_future: whether a rule by period also applies to what lies after now.
    :param tiers: of a rule that loads, how many copies each tier has; 0 keeps without a copy.
    :raises InvalidInputError: when it lacks what its type says, or has what it does not.
    """

    type: RuleType
    interval: Interval | None = None
    period: Period | None = None
    include_future: bool = True
    tiers: Mapping[str, int] = field(default_factory=lambda: DEFAULT_REPLICAS)

    def __post_init__(self) -> None:
        for name, wanted in (("interval", self.type.by_interval), ("period", self.type.by_period)):
            value = getattr(self, name)
            if (value is not None) is not wanted:
                problem = "is missing" if wanted else f"does not go with {self.type}"
                remedy = f"Give one, or another type than {self.type}" if wanted else "Leave it out"
                raise InvalidInputError(f"rule.{name}", value and str(value), problem, remedy)
        if self.period is not None and (self.period.is_zero or self.period.is_negative):
            raise InvalidInputError("rule.period", str(self.period), "is not above zero", "Give a period such as P30D")
        for tier, replicas in self.tiers.items():
            number: object = replicas  # from JSON it may be anything
            if not isinstance(number, int) or isinstance(number, bool) or number < 0:
                problem = "is no whole number from 0 on"
                raise InvalidInputError(f"rule.tieredReplicants.{tier}", replicas, problem, "Give 0 or more copies")
        object.__setattr__(self, "tiers", MappingProxyType(dict(self.tiers)))

    def __str__(self) -> str:
        return " ".join(str(one) for one in (self.type, self.interval, self.period) if one is not None)

    def reach(self, now: datetime) -> Interval:
        """Return the interval that decides at a time."""
        if self.interval is not None:
            return self.interval
        if self.period is None:
            return ETERNITY
        start = self.period.before(now)
        if self.type is RuleType.DROP_BEFORE_BY_PERIOD:
            return Interval(FIRST, start)
        return Interval(start, LAST if self.include_future else now)

    def applies(self, interval: Interval, now: datetime) -> bool:
        """Tell whether it decides about an interval at a time."""
        reach = self.reach(now)
        return reach.contains(interval) if self.type.drops else reach.overlaps(interval)
