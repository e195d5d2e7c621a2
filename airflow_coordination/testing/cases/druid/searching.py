"""The area ``compaction_search``: which groups are compacted next."""

from __future__ import annotations

from airflow_coordination.planning.compaction.skipping import skipped
from airflow_coordination.planning.intervals import parse_moment, subtract
from airflow_coordination.planning.periods import parse_period
from airflow_coordination.testing.cases.druid.lines import Checks, interval, intervals, told
from airflow_coordination.testing.cases.reading import Fields


def search_line(line: Fields, checks: Checks) -> None:
    """Compare what the search finds, or the intervals it would skip."""
    if line.has("filter"):
        given = line.inner("filter")
        left = subtract(interval(given, "total"), intervals(given, "skip"))
        checks.check(line.at("filter"), told(intervals(line, "expect.filter")), told(left))
        given.done()
    if line.has("from_latest"):
        given = line.inner("from_latest")
        offset = parse_period(given.at("offset"), given.raw("offset", "a period"))
        found = skipped(
            parse_moment(given.at("latest"), given.raw("latest", "a moment")), offset, intervals(given, "skip")
        )
        checks.check(line.at("from_latest"), told(intervals(line, "expect.from_latest")), told(found))
        given.done()
