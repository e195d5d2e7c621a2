"""The area ``rules``: which rule applies, and what a run assigns and drops."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from airflow_coordination.planning.copies.location import Copyable, Location, assign
from airflow_coordination.planning.copies.placement import Placed, Placement, place
from airflow_coordination.planning.intervals import Interval, parse_interval, parse_moment
from airflow_coordination.planning.rules.reading import read_rule, read_rules
from airflow_coordination.planning.rules.rule import Rule
from airflow_coordination.planning.timeline import Piece, timeline
from airflow_coordination.testing.cases.druid.lines import Checks, interval
from airflow_coordination.testing.cases.druid.segments import chunks_of
from airflow_coordination.testing.cases.reading import Fields, refuse

_CAPACITY: Final = 1_000
_SOME_TIME: Final = datetime(2020, 1, 1, tzinfo=UTC)
_A_DAY: Final = "2012-01-01/2012-01-02"
_ALREADY: Final = re.compile(r"(\d+) segments? already on (?:both|all) of (\d+) servers", re.ASCII)
_ROOM: Final = re.compile(r"(\d+) segments? of size (\d+), (\d+) servers? of capacity (\d+)", re.ASCII)
_VERSIONS: Final = re.compile(r"(\w+) and (\w+) of (\S+/\S+)", re.ASCII)
_EACH: Final = re.compile(r"(\d+) segments each on (\d+) servers of tier (\w+); rule wants (\d+) replicas?", re.ASCII)


@dataclass
class _World:
    """What a run finds."""

    segments: list[tuple[str, Interval, str, int]]
    locations: list[Location]
    rules: list[Rule]

    def placed(self) -> Iterator[Placed]:
        """Yield what shows of the segments, by the timeline."""
        sizes = {name: size for name, _, _, size in self.segments}
        pieces = [Piece(where, version, name) for name, where, version, _ in self.segments]
        for one in timeline(pieces).slices:
            for piece in one.pieces:
                yield Placed(piece.interval, Copyable(piece.name, sizes[str(piece.name)]))


def rules_line(line: Fields, checks: Checks) -> None:
    """Compare whether one rule applies, or what a run does."""
    if line.has("rule"):
        _one_rule(line, checks)
    elif line.has("rules") or line.has("segments"):
        _run(line, checks)


def _one_rule(line: Fields, checks: Checks) -> None:
    rule = read_rule(line.at("rule"), line.mapping("rule"))
    now = parse_moment(line.at("now"), line.raw("now", "a moment"))
    segment = interval(line, "segment")
    if line.has("applies"):
        checks.check(line.at("applies"), line.truth("applies"), rule.applies(segment, now))
    if line.has("partial_overlap_at_old_edge"):
        edge = rule.reach(now).start
        key = "partial_overlap_at_old_edge"
        checks.check(line.at(key), line.truth(key), segment.start < edge < segment.end)


def _run(line: Fields, checks: Checks) -> None:
    world = _world(line)
    further = line.whole("max_non_primary_replicas") if line.has("max_non_primary_replicas") else None
    now = parse_moment(line.at("now"), line.raw("now", "a moment")) if line.has("now") else _SOME_TIME
    if not line.has("now") and any(rule.type.by_period for rule in world.rules):
        refuse(line.at("now"), None, "is missing, and a rule goes by period", "Give the moment of the run.")
    plan = place(world.placed(), world.rules, world.locations, now, most_further=further)
    _compare(line, plan, checks)


def _world(line: Fields) -> _World:
    text = line.raw("segments", "a generator or a sentence")
    rules = _rules(line) if line.has("rules") else []
    tier = next((tier for rule in rules for tier in rule.tiers), "_default_tier")
    if isinstance(text, dict):
        return _generated(line, rules)
    said = text if isinstance(text, str) else ""
    if found := _ALREADY.fullmatch(said):
        segments = _alike(int(found[1]), 1)
        return _World(segments, _full(int(found[2]), tier, _CAPACITY, segments), rules)
    if found := _ROOM.fullmatch(said):
        return _World(_alike(int(found[1]), int(found[2])), _full(int(found[3]), tier, int(found[4]), []), rules)
    if found := _VERSIONS.fullmatch(said):
        where = parse_interval(line.at("segments"), found[3])
        return _World([(v, where, v, 1) for v in found.groups()[:2]], _full(1, tier, _CAPACITY, []), rules)
    if found := _EACH.fullmatch(said):
        segments = _alike(int(found[1]), 1)
        rules = read_rules("segments", [{"type": "loadForever", "tieredReplicants": {found[3]: int(found[4])}}])
        return _World(segments, _full(int(found[2]), found[3], _CAPACITY, segments), rules)
    remedy = "Write a generator, or such as '1 segment already on both of 2 servers'."
    return refuse(line.at("segments"), text, "says nothing that is understood", remedy)


def _generated(line: Fields, rules: list[Rule]) -> _World:
    fields = line.inner("segments")
    fields.text("dataset", "")
    size, each = fields.whole("size"), fields.whole("per_interval", 1)
    intervals = chunks_of(fields)
    fields.done()
    if each != 1:
        refuse(fields.at("per_interval"), each, "is more than one", "Give one segment for each interval.")
    segments = [(str(one), one, "1", size) for one in intervals]
    locations: list[Location] = []
    there = Fields(line.at("tiers"), line.mapping("tiers"))
    already = Fields(line.at("already_on"), line.mapping("already_on", {}))
    for tier in there.names():
        servers = [Location(f"{tier}{number}", tier, _CAPACITY) for number in range(there.whole(tier))]
        count = already.whole(tier, 0)
        after, _ = assign([Copyable(name, size) for name, *_ in segments[:count]], servers)
        locations += after.values()
    already.done()
    return _World(segments, locations, rules)


def _alike(count: int, size: int) -> list[tuple[str, Interval, str, int]]:
    day = parse_interval("segments", _A_DAY)
    step = day.end - day.start
    return [(f"s{n}", Interval(day.start + n * step, day.end + n * step), "1", size) for n in range(count)]


def _full(count: int, tier: str, capacity: int, segments: list[tuple[str, Interval, str, int]]) -> list[Location]:
    """Return locations each of which has all of the segments."""
    names, used = frozenset(name for name, *_ in segments), sum(size for *_, size in segments)
    return [Location(f"{tier}{number}", tier, capacity, used, names) for number in range(count)]


def _rules(line: Fields) -> list[Rule]:
    return [_rule(f"{line.at('rules')}[{number}]", value) for number, value in enumerate(line.items("rules"))]


def _rule(where: str, value: object) -> Rule:
    if isinstance(value, dict):
        return read_rule(where, value)
    if not isinstance(value, list) or not 2 <= len(value) <= 3 or not isinstance(value[0], str):
        refuse(where, value, "is no rule", 'Write ["loadByInterval", "start/end", {"tier": replicas}].')
    document: dict[str, Any] = {"type": value[0]}
    document |= {"interval" if value[0].endswith("ByInterval") else "period": value[1]} if value[1] is not None else {}
    document |= {"tieredReplicants": value[2]} if len(value) > 2 else {}
    return read_rule(where, document)


def _compare(line: Fields, plan: Placement, checks: Checks) -> None:
    tiers = [copy.tier for copy in plan.make]
    for name, found in (("assigned", tiers), ("dropped", [copy.tier for copy in plan.drop])):
        if line.has(name):
            fields = line.inner(name)
            expected = {tier: fields.whole(tier) for tier in fields.names()}
            checks.check(line.at(name), _some(expected), _some({tier: found.count(tier) for tier in found}))
    answers = {
        "unmatched": len(plan.unmatched),
        "alerts": len(plan.warnings),
        "alerts_for_missing_tier": sum(plan.no_such_tier.values()),
        "non_primary": sum(not copy.is_first for copy in plan.make),
        "assigned_total": len(plan.make),
        "required_capacity": sum(plan.required.values()),
    }
    for name, answer in answers.items():
        if line.has(name):
            checks.check(line.at(name), line.whole(name), answer)
    if line.has("which"):
        checks.check(line.at("which"), [line.text("which")], sorted({str(copy.name) for copy in plan.make}))
    if line.has("used_set_unchanged"):
        checks.check(line.at("used_set_unchanged"), line.truth("used_set_unchanged"), not plan.hide)


def _some(counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts without those of nothing: a tier that is left out gets nothing."""
    return {tier: count for tier, count in sorted(counts.items()) if count}
