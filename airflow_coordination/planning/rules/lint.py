"""What is odd about a list of rules: those that never apply, what never goes, tiers that there are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from airflow_coordination.planning.intervals import subtract
from airflow_coordination.planning.rules.rule import Rule, RuleType


@dataclass(frozen=True, slots=True)
class Finding:
    """Something odd.

    :param index: the place of the rule, from 0 on; ``None`` when it is about the list.
    :param problem: what is odd.
    :param remedy: what to do.
    :param error: whether nobody can mean it: a rule that never applies (Druid: issue 15015).
    """

    index: int | None
    problem: str
    remedy: str
    error: bool = False

    def __str__(self) -> str:
        place = "" if self.index is None else f"rule {self.index + 1}: "
        return f"{place}{self.problem}. {self.remedy}"


def lint(rules: Sequence[Rule], now: datetime, tiers: Mapping[str, int] | None = None) -> list[Finding]:
    """Return what is odd; nothing of it keeps rules that are in force from working (Druid: issues 13080, 15015).

    :param tiers: how many locations each tier has; ``None`` when that is not known.
    """
    if not rules:
        return [
            Finding(None, "is empty, so the default rules decide about everything", "Give rules, or none on purpose")
        ]
    found = [one for index, rule in enumerate(rules) for one in _of_rule(rules, index, rule, now, tiers)]
    if not any(rule.type.forever for rule in rules):
        problem = "no rule is forever: what none of them applies to is never dropped, and warned of in each run"
        found.append(Finding(None, problem, 'End with {"type": "dropForever"} or {"type": "loadForever"}'))
    return found


def _of_rule(
    rules: Sequence[Rule], index: int, rule: Rule, now: datetime, tiers: Mapping[str, int] | None
) -> Iterator[Finding]:
    if hidden := _hidden_by(rules[:index], rule, now):
        yield Finding(index, f"never applies, because {hidden} comes first", "Leave it out, or move it up", error=True)
    if rule.type.by_interval and rule.interval is not None and rule.interval.start > now:
        yield Finding(index, f"lies in the future, {rule.interval}", "See whether the year is right")
    if tiers is not None and rule.type.loads:
        yield from _of_tiers(index, rule, tiers)


def _of_tiers(index: int, rule: Rule, tiers: Mapping[str, int]) -> Iterator[Finding]:
    for tier, replicas in rule.tiers.items():
        if tier not in tiers:
            remedy = f"Use {', '.join(sorted(tiers)) or 'none'}"
            yield Finding(index, f"names tier {tier!r}, which has no location", remedy)
        elif replicas > tiers[tier]:
            problem = f"wants {replicas} copies in tier {tier!r}, which has {tiers[tier]} locations"
            yield Finding(index, problem, "Ask for fewer, or add locations")


def _hidden_by(earlier: Sequence[Rule], rule: Rule, now: datetime) -> str:
    """Return which of the earlier rules take everything that this one could apply to, now and later; empty for none."""
    for number, one in enumerate(earlier):
        if one.type.forever:
            return f"rule {number + 1}, {one},"
    alike = [(number, one) for number, one in enumerate(earlier) if _moves_alike(one, rule)]
    for number, one in alike:
        if one.type.drops and rule.type.drops and one.reach(now).contains(rule.reach(now)):
            return f"rule {number + 1}, {one},"
    takers = [(number, one) for number, one in alike if not one.type.drops]
    if takers and not subtract(rule.reach(now), (one.reach(now) for _, one in takers)):
        return f"what {' and '.join(f'rule {number + 1}' for number, _ in takers)} keeps"
    return ""


def _moves_alike(one: Rule, other: Rule) -> bool:
    """Tell whether what is covered now is covered always: both stand, or both move with the time."""
    if RuleType.DROP_BEFORE_BY_PERIOD in (one.type, other.type) and one.type != other.type:
        return False
    return one.type.by_interval is other.type.by_interval and one.type.forever is other.type.forever
