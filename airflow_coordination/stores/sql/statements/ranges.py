"""Partitions counted by ranges of their keys: one statement, from the indexes of those who look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from airflow_coordination.protocol.beside.key_ranges import LOOKED_AT, KeyRange, KeyRanges
from airflow_coordination.stores.sql.columns import PARTITIONS, Timed
from airflow_coordination.stores.sql.indexes import BLOCKED, MOVING, PARKED
from airflow_coordination.stores.sql.queue import not_used_up
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.values.status import PartitionStatus

_LATER, _DUE, _ENDED, _RENEWED = "later", "due", "ended", "renewed"
_BLOCKED, _PARKED = "blocked", "parked"


def key_ranges(dialect: Dialect) -> str:
    """Return by range and kind how many there are, their first key and their last one.

    Each partition is one row of its status, or of what is parked, from an index by key. Beside it stands what else is
    known of it, as a row that makes no range larger: its sum is that of the rows with the same key.
    """
    now = dialect.now
    here = f"FROM {PARTITIONS} WHERE source_identifier = :source"
    due = f"AND due_at <= {now} {not_used_up(dialect)}"
    rows = [
        *(
            f"SELECT source_partition_key AS name, '{status}' AS kind, 1 AS counts {here} AND {MOVING}"
            f" AND source_partition_status = '{status}'"
            for status in PartitionStatus
        ),
        f"SELECT source_partition_key, '{_PARKED}', 1 {here} AND {PARKED}",
        f"SELECT source_partition_key, '{_BLOCKED}', 0 {here} AND {BLOCKED} AND source_partition_status = 'UNASSIGNED'",
        _few(_LATER, f"{here} AND timed = {Timed.DELAYED:d} AND due_at > {now}"),
        _few(_DUE, f"{here} AND timed = {Timed.CLOSED:d} {due}"),
        _few(
            f"CASE WHEN partition_ownership_timeout <= {now} THEN '{_ENDED}' ELSE '{_RENEWED}' END",
            f"{here} AND timed = {Timed.HELD:d} {due}",
        ),
    ]
    return f"""WITH told AS ({" UNION ALL ".join(rows)}),
        placed AS (SELECT name, kind, (sum(counts) OVER (ORDER BY name) - 1) * :ranges / :number AS place FROM told)
        SELECT place, kind, count(*), min(name), max(name) FROM placed GROUP BY place, kind"""


def parked_before() -> str:
    """Return the highest key of what is parked below a key."""
    return f"""SELECT max(source_partition_key) FROM {PARTITIONS}
        WHERE source_identifier = :source AND {PARKED} AND source_partition_key < :key"""


def _few(kind: str, where: str) -> str:
    """Return the query of what the clock decides about: :data:`LOOKED_AT` rows at most are read."""
    said = kind if " " in kind else f"'{kind}'"
    first = f"SELECT source_partition_key, {said} AS kind, 0 {where} ORDER BY due_at LIMIT {LOOKED_AT}"
    return f"SELECT * FROM ({first}) AS few_{'held' if ' ' in kind else kind}"


def key_ranges_of(rows: Iterable[Sequence[Any]], number: int) -> KeyRanges:
    """Return the ranges that rows of :func:`key_ranges` say.

    :param number: of ranges; what was created since they were planned is in the last one.
    """
    found: dict[int, Counter[str]] = {}
    ends: dict[int, list[str]] = {}
    for place, kind, count, first, last in rows:
        at = min(int(place), number - 1)
        found.setdefault(at, Counter())[kind] += int(count)
        ends.setdefault(at, []).extend((first, last))
    few = Counter[str]()
    for each in found.values():
        few += each
    whole = all(number < LOOKED_AT for number in (few[_LATER], few[_DUE], few[_ENDED] + few[_RENEWED]))
    return KeyRanges([_range(found[at], ends[at]) for at in sorted(found)], whole)


def _range(found: Counter[str], keys: list[str]) -> KeyRange:
    delayed = found[_LATER] + found[PartitionStatus.CLOSED] - found[_DUE]
    return KeyRange(
        first=min(keys, key=str.encode),
        last=max(keys, key=str.encode),
        claimable=max(0, found[PartitionStatus.UNASSIGNED] - found[_BLOCKED] - found[_LATER] + found[_DUE]),
        held=max(0, found[PartitionStatus.ASSIGNED] - found[_ENDED]),
        expired=found[_ENDED],
        delayed=max(0, delayed),
        blocked=found[_BLOCKED],
        parked=found[_PARKED],
        completed=found[PartitionStatus.COMPLETED],
    )
