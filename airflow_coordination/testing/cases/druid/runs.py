"""The area ``compaction_run``: run after run, a task that was begun is done before the next one.

Numbers of its cases may be formulas such as ``440-40*(r+1)``: whole numbers, ``+``, ``-``, ``*``, brackets, one name.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from airflow_coordination.planning.compaction.chunks import Head
from airflow_coordination.planning.compaction.configuration import CompactionConfig
from airflow_coordination.planning.compaction.progress import Progress, progress
from airflow_coordination.planning.compaction.search import Dataset, Found, Group, search
from airflow_coordination.planning.compaction.slots import Slots, first
from airflow_coordination.planning.intervals import Interval, parse_interval
from airflow_coordination.testing.cases.druid.lines import Checks, told
from airflow_coordination.testing.cases.druid.searching import config_of
from airflow_coordination.testing.cases.reading import Fields, refuse

_MOST_RUNS: Final = 10_000
_AMOUNTS: Final = ("Awaiting", "Compacted", "Skipped")
_HALF_DAYS: Final = re.compile(r"(\d{4}-\d\d)-\d\dT00/\1-\d\dT12 and T12/next T00 for day in [\d,]+", re.ASCII)
_EFFECT: Final = re.compile(r".*: (\d+) segments of (\d+) B become (\d+) segments of \(sum/(\d+)\) B\b.*", re.ASCII)
_AS: Final = re.compile(r"\w+ for one dataset, but (.+) have (\d+)-byte segments(?: \(.*\))?", re.ASCII)
_PART: Final = re.compile(r"(both half days|the morning|the afternoon) of day (\d{1,2})\b", re.ASCII)
_VISITS: Final = re.compile(r"all \w+ datasets once before the next older interval")
_NEW_DATA: Final = re.compile(r"after_new_data_day_(\d{1,2})", re.ASCII)
_THEN: Final = re.compile(r"previously newest interval becomes compactible: next run submits (\d+) tasks?", re.ASCII)


@dataclass
class _World:
    """What the datasets have, and what has been done with it."""

    heads: dict[str, list[Head]]
    configs: dict[str, CompactionConfig]
    slots: Slots
    capacity: int
    become: int
    size: int
    parts: int
    month: str
    runs: list[tuple[list[Group], dict[str, Progress]]] = field(default_factory=list)

    def found(self) -> Found:
        return search(Dataset(self.configs[name], heads) for name, heads in self.heads.items())

    def run(self) -> list[Group]:
        """Begin what there are slots for, note how everything stands, and finish it."""
        found = self.found()
        begun, _ = first(((group, 1) for group in found.groups), self.slots.available(self.capacity, 0))
        self.runs.append((begun, progress(found, begun)))
        for group in begun:
            self._finish(group)
        return begun

    def _finish(self, group: Group) -> None:
        left = [head for head in self.heads[group.dataset] if head not in group.heads]
        spec = self.configs[group.dataset].spec
        for number in range(self.become):
            name = (group.interval, len(self.runs), number)
            left.append(Head(name, group.interval, group.bytes // self.become, merged_with=spec))
        self.heads[group.dataset] = left

    def half_days(self, day: int) -> tuple[Interval, Interval]:
        at = f"{self.month}-{day:02}"
        return parse_interval("days", f"{at}T00/PT12H"), parse_interval("days", f"{at}T12/PT12H")

    def publish(self, day: int) -> None:
        """Give every dataset the segments of a day."""
        for name, heads in self.heads.items():
            for half in self.half_days(day):
                heads += [Head((name, half, number), half, self.size) for number in range(self.parts)]


_OPERATIONS: Final = MappingProxyType({ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul})
_LONGEST: Final = 100


def formula(where: str, value: object) -> Callable[[int], int]:
    """Return what a number or a formula in ``r`` says for an ``r``.

    :raises InvalidInputError: when it is neither.
    """
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    try:
        tree = ast.parse(text[:_LONGEST], mode="eval").body
        _evaluated(tree, 0)
    except (KeyError, SyntaxError, ValueError, RecursionError):
        refuse(where, value, "is neither a number nor a formula in r", "Write such as 440-40*(r+1).")
    return lambda r: _evaluated(tree, r)


def _evaluated(node: ast.expr, r: int) -> int:
    if isinstance(node, ast.BinOp):
        found: int = _OPERATIONS[type(node.op)](_evaluated(node.left, r), _evaluated(node.right, r))
        return found
    if isinstance(node, ast.Name) and node.id == "r":
        return r
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    raise ValueError(ast.dump(node))


def runs_line(line: Fields, checks: Checks) -> None:
    """Run until there is nothing to do, and compare."""
    world = _world(line)
    while world.run():
        if len(world.runs) > _MOST_RUNS:
            refuse(line.where, line.names(), f"is not idle after {_MOST_RUNS} runs", "Give less data.")
    begun = [groups for groups, _ in world.runs if groups]
    if line.has("per_run"):
        per_run = line.inner("per_run")
        submitted = per_run.whole("submitted")
        checks.check(per_run.at("submitted"), [submitted] * len(begun), [len(groups) for groups in begun])
        per_run.done()
    for name in ("n_runs_until_idle", "runs"):
        if line.has(name):
            checks.check(line.at(name), line.whole(name), len(begun))
    visits = [(group.dataset, group.interval) for groups in begun for group in groups]
    _compare_order(line, world, visits, checks)
    _compare_snapshots(line, world, checks)
    _compare_what_has_nothing(line, world, checks)
    _compare_new_data(line, world, checks)


def _world(line: Fields) -> _World:
    effect = _understood(line, "task_effect", _EFFECT)
    month = _understood(line, "intervals_per_dataset", _HALF_DAYS)[1]
    names = line.texts("datasets")
    config = line.mapping("config")
    configs = {name: config_of(name, Fields(line.at("config"), config)) for name in names}
    slots = Slots(line.number("ratio"), line.whole("max_slots"))
    world = _World(
        heads={name: [] for name in names},
        configs=configs,
        slots=slots,
        capacity=line.whole("capacity"),
        become=max(1, int(effect[3])),
        size=line.whole("size"),
        parts=line.whole("partitions_per_interval"),
        month=month,
    )
    for number, day in enumerate(line.items("days")):
        if not isinstance(day, int) or isinstance(day, bool) or not 1 <= day <= 31:
            refuse(f"{line.at('days')}[{number}]", day, "is no day of a month", "Give a number from 1 to 31.")
        world.publish(day)
    if line.has("as"):
        _change(line, world)
    return world


def _change(line: Fields, world: _World) -> None:
    """Take one dataset, and give some of its half days segments of another size."""
    said = _understood(line, "as", _AS)
    parts = _PART.findall(said[1])
    if _PART.sub("", said[1]).replace(" and ", "").strip():
        refuse(line.at("as"), line.text("as"), "names something that is no half day", "Name both half days of day N, …")
    changed = [half for part, day in parts for half in _halves(world, part, int(day))]
    name = next(iter(world.heads))
    world.heads = {
        name: [
            Head(head.name, head.interval, int(said[2]) if head.interval in changed else head.bytes)
            for head in world.heads[name]
        ]
    }


def _halves(world: _World, part: str, day: int) -> list[Interval]:
    morning, afternoon = world.half_days(day)
    return {"the morning": [morning], "the afternoon": [afternoon]}.get(part, [morning, afternoon])


def _understood(line: Fields, name: str, form: re.Pattern[str]) -> re.Match[str]:
    """Return what a sentence of the file says.

    :raises InvalidInputError: when it is none that is understood.
    """
    value = line.raw(name, "a sentence")
    text = value[0] if isinstance(value, list) and len(value) == 1 else value
    found = form.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        refuse(line.at(name), value, "says nothing that is understood", f"Write it as {form.pattern!r} has it.")
    return found


def _compare_order(line: Fields, world: _World, visits: list[tuple[str, Interval]], checks: Checks) -> None:
    if line.has("interval_order"):
        given = line.texts("interval_order")
        where = line.at("interval_order")
        expected = [str(parse_interval(f"{where}[{number}]", each)) for number, each in enumerate(given)]
        checks.check(where, expected, told(list(dict.fromkeys(interval for _, interval in visits))))
    if line.has("each_interval_visits"):
        _understood(line, "each_interval_visits", _VISITS)
        width = len(world.heads)
        rounds = [visits[at : at + width] for at in range(0, len(visits), width)]
        odd = [one for one in rounds if len({at for _, at in one}) > 1 or {name for name, _ in one} != set(world.heads)]
        checks.check(line.at("each_interval_visits"), [], odd)
    if line.has("newest_interval_never_compacted"):
        newest = max(head.interval for heads in world.heads.values() for head in heads)
        never = newest if newest not in {interval for _, interval in visits} else None
        where = line.at("newest_interval_never_compacted")
        expected_newest = parse_interval(where, line.raw("newest_interval_never_compacted", "an interval"))
        checks.check(where, str(expected_newest), str(never))


def _compare_snapshots(line: Fields, world: _World, checks: Checks) -> None:
    width = len(world.heads)
    runs = [one for one in world.runs if one[0]]
    if line.has("final"):
        for name in world.heads:
            _compare_snapshot(line, "final", 0, world.runs[-1][1].get(name), checks)
    for number, (groups, after) in enumerate(runs):
        begun = {group.dataset for group in groups}
        in_this_round = runs[number - number % width : number]
        earlier = {group.dataset for before, _ in in_this_round for group in before}
        for key, r, names in (
            ("after_run_r", number, begun),
            ("snapshot_after_r_rounds_for_the_dataset_just_compacted", number // width, begun),
            ("snapshot_for_datasets_compacted_earlier_in_the_round", number // width, earlier),
        ):
            for name in sorted(names) if line.has(key) else ():
                _compare_snapshot(line, key, r, after.get(name), checks)


def _compare_snapshot(line: Fields, key: str, r: int, seen: Progress | None, checks: Checks) -> None:
    fields = line.inner(key)
    answers = _names(seen)
    for name in fields.names():
        fields.raw(name, "a number or a formula in r")
        if name in answers:
            checks.check(fields.at(name), formula(fields.at(name), fields.raw(name, "a formula"))(r), answers[name])
        else:
            refuse(fields.at(name), fields.raw(name, "…"), "is nothing of a snapshot", f"Use {', '.join(answers)}.")


def _names(seen: Progress | None) -> dict[str, int | None]:
    """Return a snapshot by Druid's names."""
    found: dict[str, int | None] = {}
    for amount in _AMOUNTS:
        one = getattr(seen, amount.lower(), None)
        found |= {f"bytes{amount}": getattr(one, "bytes", None), f"intervals{amount}": getattr(one, "intervals", None)}
        found[f"segments{amount}"] = getattr(one, "heads", None)
    return found


def _compare_what_has_nothing(line: Fields, world: _World, checks: Checks) -> None:
    key = "dataset_without_config_or_without_segments"
    if line.has(key):
        line.text(key, among=("absent from the status snapshot",))
        empty = CompactionConfig(dataset="without segments")
        found = search([Dataset(empty, []), *(Dataset(world.configs[name], h) for name, h in world.heads.items())])
        checks.check(line.at(key), sorted(world.heads), sorted(progress(found)))
    if line.has("no_config_at_all"):
        line.text("no_config_at_all", among=("snapshot empty, 0 tasks",))
        nothing = search([])
        checks.check(line.at("no_config_at_all"), ({}, 0), (progress(nothing), len(nothing.groups)))


def _compare_new_data(line: Fields, world: _World, checks: Checks) -> None:
    for name in line.names():
        if day := _NEW_DATA.fullmatch(name):
            submitted = int(_understood(line, name, _THEN)[1])
            newest = max(head.interval for heads in world.heads.values() for head in heads)
            world.publish(int(day[1]))
            can_be = {group.interval for group in world.found().groups}
            checks.check(line.at(name), (True, submitted), (newest in can_be, len(world.run())))
