"""The first rule that applies, why, and when that will be another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.periods import FIRST, LAST
from airflow_coordination.planning.rules.rule import Rule

_INSTANT: Final = timedelta(microseconds=1)
_A_DAY: Final = timedelta(days=1)
_DAYS_THAT_A_MONTH_LACKS: Final = 4
_SPREAD: Final = timedelta(days=33)
"""So long after a side of an interval, or a period after it, lies the last of its edges."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What decides about an interval.

    :param rule: the rule; ``None`` when none applies, then everything is left as it is.
    :param index: its place in the list, from 0 on.
    :param why: for people.
    """

    rule: Rule | None
    index: int | None
    why: str


def choose(rules: Sequence[Rule], interval: Interval, now: datetime) -> Choice:
    """Return the first rule that applies.

    :param rules: those of the dataset, then the defaults.
    """
    for index, rule in enumerate(rules):
        if rule.applies(interval, now):
            how = "lies inside" if rule.type.drops else "overlaps"
            return Choice(rule, index, f"rule {index + 1}, {rule}: {interval} {how} {rule.reach(now)}")
    return Choice(None, None, f"none of {len(rules)} rules applies to {interval}: it is left as it is")


def next_change(rules: Sequence[Rule], interval: Interval, now: datetime) -> datetime | None:
    """Return from when on another rule decides; ``None`` if that never changes."""
    today = choose(rules, interval, now).index
    for moment in sorted({one for rule in rules for one in _edges(rule, interval) if now < one < LAST}):
        if choose(rules, interval, moment).index != today:
            return moment
    return None


def first_change(rules: Sequence[Rule], intervals: Iterable[Interval], now: datetime) -> datetime | None:
    """Return from when on another rule decides about any of some intervals; ``None`` if that never changes.

    Few of them are looked at closely: those that may change before the first change that was found.
    """
    row = []
    for interval in intervals:
        bounds = [one for rule in rules for one in _not_before(rule, interval, now)]
        row += [(min(bounds), interval)] if bounds else []
    found: datetime | None = None
    for bound, interval in sorted(row):
        if found is not None and found <= bound:
            break
        moment = next_change(rules, interval, now)
        found = moment if found is None else min(found, moment or found)
    return found


def _not_before(rule: Rule, interval: Interval, now: datetime) -> Iterator[datetime]:
    """Yield moments after now, or now itself, before which none of the edges lies that come later than now."""
    if rule.period is None:
        return
    for side in (interval.start, interval.end):
        if side in (FIRST, LAST):
            continue
        for edge in (side, rule.period.after(side)):
            if edge > now:
                yield edge
            elif _later(edge, _SPREAD) > now:
                yield now


def _edges(rule: Rule, interval: Interval) -> Iterator[datetime]:
    """Yield the moments at which a rule may begin or cease to apply.

    A side of its window passes a side of the interval then. A period back from the first days of March can be the same
    day as from the last ones of it, so some days around are looked at, too.
    """
    if rule.period is None:
        return
    for side in (interval.start, interval.end):
        if side in (FIRST, LAST):
            continue
        there = [side, rule.period.after(side)]
        first_of_month = there[1].replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        for days in range(_DAYS_THAT_A_MONTH_LACKS + 1):
            there += [_later(there[1], days * _A_DAY), _later(first_of_month, (28 + days) * _A_DAY)]
        for moment in there:
            yield moment
            yield _later(moment, _INSTANT)


def _later(moment: datetime, by: timedelta) -> datetime:
    return LAST if LAST - moment <= by else moment + by
