"""Segments as Druid's cases write them: by a generator, or one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_coordination.planning.compaction.chunks import Head
from airflow_coordination.planning.intervals import Interval, parse_interval
from airflow_coordination.planning.periods import Period, parse_period
from airflow_coordination.testing.cases.reading import Fields, refuse

_MOST = 1_000_000


def chunks_of(fields: Fields) -> list[Interval]:
    """Return the intervals of a generator: backwards from the end in steps, what remains is one short chunk.

    :raises InvalidInputError: when the generator is malformed, or makes more than a million.
    """
    total = parse_interval(fields.at("total"), fields.raw("total", "an interval"))
    period = parse_period(fields.at("period"), fields.raw("period", "a period"), zero=False)
    found = list(_backwards(total, period))
    if len(found) > _MOST:
        refuse(fields.at("period"), str(period), f"cuts {total} into more than {_MOST}", "Give a longer period.")
    return found


def _backwards(total: Interval, period: Period) -> Iterator[Interval]:
    end, number = total.end, 0
    while end > total.start and number <= _MOST:
        start = max(period.before(end), total.start)
        yield Interval(start, end)
        end, number = start, number + 1


def heads(line: Fields, name: str, values: list[Any], size: int | None = None) -> list[Head]:
    """Return the segments of one dataset.

    :param name: the way to them.
    :param values: generators, or pairs of an interval and a version.
    :param size: the bytes of each of the pairs.
    :raises InvalidInputError: when one is malformed.
    """
    found: list[Head] = []
    for number, value in enumerate(values):
        where = f"{name}[{number}]"
        if isinstance(value, list):
            found.append(_written(line, where, value, len(found), size))
        else:
            found += _generated(where, value, len(found))
    return found


def _written(line: Fields, where: str, value: list[Any], number: int, size: int | None) -> Head:
    if len(value) != 2 or not isinstance(value[1], str):
        refuse(where, value, "is no segment", 'Write ["start/end", "version"], or a generator.')
    if size is None:
        refuse(line.at("segment_size"), None, "is missing", "Give the bytes of each segment.")
    return Head(number, parse_interval(where, value[0]), size)


def _generated(where: str, value: object, start: int) -> list[Head]:
    fields = Fields(where, value)
    size, each = fields.whole("size"), fields.whole("per_interval", 1)
    state: Mapping[str, Any] | None = fields.mapping("compacted_with") if fields.has("compacted_with") else None
    tombstone = fields.truth("tombstone", False)
    intervals = chunks_of(fields)
    fields.done()
    row = [one for one in intervals for _ in range(each)]
    return [Head(start + number, one, size, state, is_tombstone=tombstone) for number, one in enumerate(row)]
