"""The area ``compaction_search``: which groups are compacted next, in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from airflow_coordination.planning.buckets import granularity
from airflow_coordination.planning.compaction.configuration import GRANULARITY, CompactionConfig, Oversize, Straddling
from airflow_coordination.planning.compaction.search import Dataset, Found, Fragmentation, Group, Policy, Reason, search
from airflow_coordination.planning.compaction.skipping import skipped
from airflow_coordination.planning.intervals import (
    Interval,
    newest_first,
    parse_interval,
    parse_moment,
    subtract,
    umbrella,
)
from airflow_coordination.planning.periods import parse_period
from airflow_coordination.testing.cases.druid.lines import Checks, inner_list, interval, intervals, told
from airflow_coordination.testing.cases.druid.segments import heads
from airflow_coordination.testing.cases.reading import Fields, refuse

_ONE: Final = "dataSource"
_POLICIES: Final = {"newestSegmentFirst": Policy.NEWEST_FIRST, "mostFragmentedFirst": Policy.MOST_FRAGMENTED}


def search_line(line: Fields, checks: Checks) -> None:
    """Compare what the search finds, or the intervals that it would skip."""
    _compare_skipping(line, checks)
    if line.has("alternatives"):
        expected = _expected(line)
        for number, each in enumerate(line.items("alternatives")):
            where = f"{line.at('alternatives')}[{number}]"
            if not isinstance(each, list):
                refuse(where, each, "is no list of segments", "Write [generator, …].")
            _compare(line, _found(line, {_ONE: (where, each)}), expected, checks)
    elif line.has("segments"):
        given = {_ONE: (line.at("segments"), line.items("segments"))}
        _compare(line, _found(line, given), _expected(line), checks)
    elif line.has("datasets"):
        given = {name: (f"{line.at('datasets')}.{name}", each) for name, each in line.mapping("datasets").items()}
        for where, each in given.values():
            if not isinstance(each, list):
                refuse(where, each, "is no list of segments", "Write [generator, …].")
        _compare(line, _found(line, given), _expected(line), checks)


def _compare_skipping(line: Fields, checks: Checks) -> None:
    if line.has("filter"):
        given = line.inner("filter")
        left = subtract(interval(given, "total"), intervals(given, "skip"))
        checks.check(line.at("filter"), told(intervals(line, "expect.filter")), told(left))
        given.done()
    if line.has("from_latest"):
        given = line.inner("from_latest")
        offset = parse_period(given.at("offset"), given.raw("offset", "a period"))
        latest = parse_moment(given.at("latest"), given.raw("latest", "a moment"))
        found = skipped(latest, offset, intervals(given, "skip"))
        checks.check(line.at("from_latest"), told(intervals(line, "expect.from_latest")), told(found))
        given.done()


def config_of(name: str, fields: Fields) -> CompactionConfig:
    """Return a configuration. What Druid's keys do not say is off; other keys are what segments are compacted with.

    :raises InvalidInputError: when it is malformed.
    """
    also = {key: fields.raw(key, "a value", None) for key in fields.names() if key not in _KEYS}
    size = fields.raw(GRANULARITY, "a granularity", None)
    offset = fields.raw("skipOffsetFromLatest", "a period", "P0D")
    made = CompactionConfig(
        dataset=name,
        granularity=None if size is None else granularity(fields.at(GRANULARITY), size),
        skip_offset_from_latest=parse_period(fields.at("skipOffsetFromLatest"), offset),
        input_bytes=fields.whole("inputSegmentSizeBytes", 100 * 10**12),
        also=also,
        oversize=Oversize(fields.text("oversize", "skip", tuple(Oversize))),
        straddling=Straddling.EACH,  # as Druid's searches do, which cut at the buckets
        enabled=fields.truth("enabled", True),
    )
    fields.done()
    return made


_KEYS: Final = frozenset(
    {"skipOffsetFromLatest", "inputSegmentSizeBytes", GRANULARITY, "oversize", "enabled", "note", "why"}
)


def _found(line: Fields, given: dict[str, tuple[str, list[Any]]]) -> Found:
    size = line.whole("segment_size") if line.has("segment_size") else None
    locked = line.mapping("skip_intervals", {})
    datasets = []
    for name, (where, values) in given.items():
        locks = locked.get(name, [])
        at = f"{line.at('skip_intervals')}.{name}"
        held = {parse_interval(f"{at}[{number}]", each): "another task" for number, each in enumerate(locks)}
        datasets.append(Dataset(config_of(name, line.inner("config")), heads(line, where, values, size), held))
    if unknown := locked.keys() - given.keys():
        refuse(line.at("skip_intervals"), sorted(unknown), "names no dataset of the case", "Name one of them.")
    first = line.text("priorityDatasource") if line.has("priorityDatasource") else None
    return search(datasets, _policy(line), first=first, fragmentation=_rule(line))


def _policy(line: Fields) -> Policy:
    return _POLICIES[line.text("policy", among=_POLICIES)] if line.has("policy") else Policy.NEWEST_FIRST


def _rule(line: Fields) -> Fragmentation | None:
    if not line.has("fragmentation"):
        return None
    fields = line.inner("fragmentation")
    default = Fragmentation()
    made = Fragmentation(
        fields.whole("minUncompactedCount", default.least_heads),
        fields.whole("minUncompactedBytes", default.least_bytes),
        fields.whole("maxAverageUncompactedBytesPerSegment", default.most_average),
    )
    fields.done()
    return made


_Expected = dict[str, Any]


def _expected(line: Fields) -> _Expected:
    """Return what is expected of a search, by the names that the file has for it.

    :raises InvalidInputError: when something of it is malformed.
    """
    return {name: read(line, name) for name, read in _READ.items() if line.has(name)}


def _ranges(line: Fields, name: str) -> list[str]:
    return [one for each in inner_list(line, name) for one in _range(each)]


def _row(line: Fields, name: str) -> list[str]:
    return told(intervals(line, name))


def _each(read: Callable[[str, object], str]) -> Callable[[Fields, str], list[str]]:
    return lambda line, name: [read(f"{line.at(name)}[{number}]", one) for number, one in enumerate(line.items(name))]


def _range(fields: Fields) -> Iterator[str]:
    """Yield the intervals from the newest to the oldest, both included, a step apart."""
    newest, oldest = interval(fields, "newest"), interval(fields, "oldest")
    step = parse_period(fields.at("step"), fields.raw("step", "a period"), zero=False)
    fields.done()
    if newest_first(oldest) < newest_first(newest):
        refuse(fields.where, str(oldest), "is newer than the newest", "Exchange newest and oldest.")
    one = newest
    while newest_first(one) <= newest_first(oldest):
        yield str(one)
        one = Interval(step.before(one.start), step.before(one.end))


def _ordered(where: str, value: object) -> str:
    if not isinstance(value, list) or len(value) != 3:
        refuse(where, value, "is no group", 'Write ["dataset", "start/end", number of segments].')
    return f"{value[0]} {parse_interval(where, value[1])} {value[2]}"


def _left(where: str, value: object) -> str:
    if not isinstance(value, list) or len(value) != 2 or value[1] not in tuple(Reason):
        reasons = ", ".join(Reason)
        refuse(where, value, "is nothing that is left out", f'Write ["start/end", "reason"]; reasons are {reasons}.')
    return f"{parse_interval(where, value[0])} {value[1]}"


_COUNTS: Final = ("count", "derived_count", "segments_per_group", "derived_skipped_oversize_groups")
_READ: Final[Mapping[str, Callable[[Fields, str], Any]]] = MappingProxyType(
    {
        **dict.fromkeys(("groups", "derived_groups"), _ranges),
        **dict.fromkeys(("groups_intervals", "derived_groups_intervals", "umbrellas", "not"), _row),
        "segment_set": lambda line, name: sorted(_row(line, name)),
        **dict.fromkeys(("last_group", "segment_umbrella"), lambda line, name: str(interval(line, name))),
        **dict.fromkeys(_COUNTS, Fields.whole),
        "order": _each(_ordered),
        "skipped": lambda line, name: sorted(_each(_left)(line, name)),
    }
)


def _compare(line: Fields, found: Found, expected: _Expected, checks: Checks) -> None:
    answers = _answers(found.groups, found.left)
    for name, wanted in expected.items():
        checks.check(line.at(name), wanted, answers[name](wanted))


def _answers(groups: tuple[Group, ...], left: tuple[Group, ...]) -> dict[str, Any]:
    """Return by the names of the file what is to be compared; each may look at what is expected."""
    row = [str(group.interval) for group in groups]
    inside = sorted({str(head.interval) for group in groups for head in group.heads})
    umbrella_of = [head.interval for group in groups for head in group.heads]
    over = [group for group in left if group.reason is Reason.OVER_LIMIT]
    answers: dict[str, Any] = {
        "segment_set": lambda _: inside,
        "not": lambda wanted: [one for one in wanted if one not in inside],
        "last_group": lambda _: row[-1] if row else "",
        "segment_umbrella": lambda _: str(umbrella(umbrella_of)) if umbrella_of else "",
        "segments_per_group": lambda wanted: next((len(g.heads) for g in groups if len(g.heads) != wanted), wanted),
        "derived_skipped_oversize_groups": lambda _: len(over),
        "order": lambda _: [f"{group.dataset} {group.interval} {len(group.heads)}" for group in groups],
        "skipped": lambda _: sorted(f"{group.interval} {group.reason}" for group in left),
    }
    rows = ("groups", "derived_groups", "groups_intervals", "derived_groups_intervals", "umbrellas")
    counts = ("count", "derived_count")
    return answers | dict.fromkeys(rows, lambda _: row) | dict.fromkeys(counts, lambda _: len(row))
