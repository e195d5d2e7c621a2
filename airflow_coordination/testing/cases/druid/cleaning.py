"""The area ``cleanup``: what may be marked as unused, what is deleted, and how many at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from airflow_coordination.planning.compaction.slots import first
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.periods import Period, parse_period
from airflow_coordination.planning.timeline import Piece
from airflow_coordination.planning.unused.deleting import (
    Margins,
    Unused,
    deletable,
    deleting_slots,
    is_due,
    overshadowed,
)
from airflow_coordination.testing.cases.druid.lines import Checks, inner_list, interval
from airflow_coordination.testing.cases.druid.slots import limited
from airflow_coordination.testing.cases.reading import Fields, refuse

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_ONE: Final = "dataset"
_INDEXING_PERIOD: Final = "PT30M"
_OFFSET: Final = re.compile(r"([+-])(\d{1,6})([dhms])", re.ASCII)
_UNITS: Final = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_DATASETS: Final = re.compile(r"with_([a-z]+)_datasets?_only_([a-z]+)_gets?_a_task", re.ASCII)


def cleanup_line(line: Fields, checks: Checks) -> None:
    """Compare by what is given: versions that are used, what is unused, or a capacity."""
    if line.has("used"):
        _marked(line, checks)
    if line.has("unused"):
        _deleted(line, checks)
    if line.has("capacity"):
        _slots(line, checks)


def _marked(line: Fields, checks: Checks) -> None:
    where = interval(line, "interval")
    pieces = [Piece(where, version, version) for version in line.texts("used")]
    wait = timedelta(milliseconds=line.whole("delay_ms", 0))
    leads_for = timedelta(milliseconds=line.whole("leader_for_ms", 0))
    line.text("server", "")
    found = [piece.name for piece in overshadowed(pieces, line.texts("served"), leads_for, wait)]
    if line.has("marked_unused"):
        checks.check(line.at("marked_unused"), sorted(line.texts("marked_unused")), sorted(map(str, found)))
    if line.has("overshadowed_stat"):
        checks.check(line.at("overshadowed_stat"), line.whole("overshadowed_stat"), len(found))


def _deleted(line: Fields, checks: Checks) -> None:
    line.pass_over("eligible_if")
    given = {**line.mapping("defaults", {}), **line.mapping("cfg", {})}
    cfg = Fields(line.at("cfg"), given)
    margins, period = _margins(cfg, line), _period(cfg)
    cfg.done()
    unused = _unused(line)
    now = _NOW
    if line.has("eligible"):
        found = [one.name for one in deletable(unused, margins, now)]
        checks.check(line.at("eligible"), line.texts("eligible"), found)
    if line.has("second_run_within_period"):
        line.text("second_run_within_period", among=("does nothing",))
        half, whole = now + (period.after(now) - now) / 2, period.after(now)
        due = is_due(now, half - now, now), is_due(now, period.after(now) - now, half), is_due(now, whole - now, whole)
        checks.check(line.at("second_run_within_period"), (False, False, True), due)
    if line.has("rounds"):
        _rounds(line, unused, margins, checks)


def _rounds(line: Fields, unused: list[Unused], margins: Margins, checks: Checks) -> None:
    """Delete round after round, and compare what goes in each."""
    left = list(unused)
    for number, expected in enumerate(inner_list(line, "rounds")):
        found = deletable(left, margins, _NOW)
        left = [one for one in left if one not in found]
        answer: dict[str, list[str]] = {}
        for one in found:
            answer.setdefault(one.dataset, []).append(str(one.name))
        wanted = {name: expected.texts(name) for name in expected.names()}
        checks.check(f"{line.at('rounds')}[{number}]", {k: v for k, v in wanted.items() if v}, answer)
        expected.done()


def _margins(cfg: Fields, line: Fields) -> Margins:
    retain: Period | None = parse_period(
        cfg.at("durationToRetain"), cfg.raw("durationToRetain", "a period", "P90D"), negative=True
    )
    if cfg.truth("ignoreDurationToRetain", False):
        retain = None
    return Margins(
        duration_to_retain=retain,
        buffer=parse_period(cfg.at("bufferPeriod"), cfg.raw("bufferPeriod", "a period", "P30D")),
        most=cfg.whole("maxSegments", 100),
        datasets=line.texts("allowed") if line.has("allowed") else None,
        i_know=True,
    )


def _period(cfg: Fields) -> Period:
    said = cfg.text("period", "indexing period")
    return parse_period(cfg.at("period"), _INDEXING_PERIOD if said == "indexing period" else said, zero=False)


def _unused(line: Fields) -> list[Unused]:
    """Return what is unused; of one dataset, or of those that ``datasets`` names with what they have."""
    given = line.mapping("unused")
    only = line.texts("only") if line.has("only") else list(given)
    datasets: Mapping[str, Any] = line.mapping("datasets") if line.has("datasets") else {_ONE: only}
    marked = line.mapping("marked", {"*": "-0s"})
    for name in (*only, *(name for names in datasets.values() for name in names), *marked):
        if name not in given and name != "*":
            refuse(line.at("unused"), sorted(given), f"has no {name!a}, which is named", "Give it, or leave it out.")
    found = []
    for dataset, names in datasets.items():
        for name in names:
            when = marked.get(name, marked.get("*", "-0s"))
            fields = Fields(f"{line.at('unused')}.{name}", given[name])
            found.append(Unused(dataset, name, _interval(fields), _NOW + _offset(line.at("marked"), when)))
            fields.done()
    return found


def _interval(fields: Fields) -> Interval:
    end = _NOW + _offset(fields.at("end"), fields.raw("end", "an offset from now"))
    length = parse_period(fields.at("len"), fields.raw("len", "a period", "PT1H"), zero=False)
    return Interval(length.before(end), end)


def _offset(where: str, value: object) -> timedelta:
    found = _OFFSET.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        refuse(where, value, "is no offset from now", "Write such as -30d, -1h or +1d.")
    return timedelta(**{_UNITS[found[3]]: int(found[1] + found[2])})


def _slots(line: Fields, checks: Checks) -> None:
    slots = deleting_slots(line.number("ratio"), line.whole("max_slots"))
    capacity, running = line.whole("capacity"), line.whole("running", 0)
    limited(line, slots, checks, capacity, running)
    for name in line.names():
        if said := _DATASETS.fullmatch(name):
            datasets, tasks = (_number(line.at(name), word) for word in said.groups())
            begun, _ = first([(number, 1) for number in range(datasets)], slots.available(capacity, running))
            checks.check(line.at(name), line.truth(name), len(begun) == tasks)


def _number(where: str, word: str) -> int:
    if word not in _NUMBERS:
        refuse(where, word, "is no number that is understood", f"Use one of {', '.join(_NUMBERS)}.")
    return _NUMBERS.index(word)
