"""Partitions counted by ranges of their keys: two statements, from the indexes of those who look.

Nothing is sorted: a million keys are in order in five ranges of those indexes, and putting them into one takes seconds.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from airflow_coordination.protocol.beside.key_ranges import LOOKED_AT, KeyRange, KeyRanges
from airflow_coordination.stores.sql.columns import PARTITIONS, Timed
from airflow_coordination.stores.sql.indexes import MOVING, PARKED
from airflow_coordination.stores.sql.queue import not_used_up
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.read import blocked
from airflow_coordination.values.names import MAX_KEY_BYTES
from airflow_coordination.values.status import PartitionStatus

_LATER, _DUE, _ENDED, _RENEWED = "later", "due", "ended", "renewed"
_BLOCKED, _PARKED = "blocked", "parked"
_TOLD: Final = {
    **{str(status): f"AND {MOVING} AND source_partition_status = '{status}'" for status in PartitionStatus},
    _PARKED: f"AND {PARKED}",
}
"""Where in an index by key each partition stands: in one of these."""
_SAMPLED: Final = 20
"""Keys that are looked at for each range, to find where it ends: the ranges are as large to a fifth, or better."""
_ABOVE_ALL: Final = "\U0010ffff" * (MAX_KEY_BYTES // len("\U0010ffff".encode()))


def every(whole: int, number: int) -> int:
    """Return of how many keys one is looked at.

    :param whole: how many partitions there are.
    :param number: of ranges.
    """
    return max(1, whole // (number * _SAMPLED))


def sampled(_: Dialect) -> str:
    """Return one key of ``:skipped`` and one more, of each part of the indexes: the others are passed over there."""
    key = f"""SELECT source_partition_key FROM {PARTITIONS} WHERE source_identifier = :source {{}}
        ORDER BY source_partition_key LIMIT 1 OFFSET :skipped"""
    steps = [
        f"""step_{n}(name) AS (SELECT ({key.format(where)})
            UNION ALL SELECT ({key.format(f"{where} AND source_partition_key > step_{n}.name")})
            FROM step_{n} WHERE step_{n}.name IS NOT NULL)"""
        for n, where in enumerate(_TOLD.values())
    ]
    found = (f"SELECT name FROM step_{n} WHERE name IS NOT NULL" for n in range(len(steps)))
    return f"WITH RECURSIVE {', '.join(steps)} {' UNION ALL '.join(found)}"


def ends_of(keys: Iterable[str], number: int) -> list[str]:
    """Return where ranges of about as many keys each end, themselves among them; the last one has no end.

    :param keys: of all keys one in so many.
    :param number: of ranges at most.
    """
    ordered = sorted(keys, key=str.encode)
    last = {place * number // len(ordered): key for place, key in enumerate(ordered)}
    return [*list(last.values())[:-1], _ABOVE_ALL]


def bounds_of(ends: Sequence[str]) -> str:
    """Return the ranges as :func:`key_ranges` takes them."""
    return json.dumps(list(zip(["", *ends], ends, strict=False)))


def key_ranges(dialect: Dialect) -> str:
    """Return by range and kind how many there are, their first key and their last one; behind them single keys.

    Of those, whose range is none, something else is known by the clock.
    """
    now = dialect.now
    here = f"FROM {PARTITIONS} WHERE source_identifier = :source"
    inside = "AND source_partition_key > low AND source_partition_key <= high"
    due = f"AND due_at <= {now} {not_used_up(dialect)}"
    rows = [
        *(
            f"SELECT place, '{kind}' AS kind, (SELECT count(*) {here} {where} {inside}) AS number,"
            f" (SELECT min(source_partition_key) {here} {where} {inside}) AS first_key,"
            f" (SELECT max(source_partition_key) {here} {where} {inside}) AS last_key FROM bounds"
            for kind, where in _TOLD.items()
        ),
        f"SELECT place, '{_BLOCKED}', {blocked(inside)}, NULL, NULL FROM bounds",
        _few(_LATER, f"{here} AND timed = {Timed.DELAYED:d} AND due_at > {now}"),
        _few(_DUE, f"{here} AND timed = {Timed.CLOSED:d} {due}"),
        _few(
            f"CASE WHEN partition_ownership_timeout <= {now} THEN '{_ENDED}' ELSE '{_RENEWED}' END",
            f"{here} AND timed = {Timed.HELD:d} {due}",
        ),
    ]
    return f"WITH bounds AS ({_BOUNDS[dialect.locks]}) {' UNION ALL '.join(rows)}"


_BOUNDS: Final = {
    True: """SELECT ordinality - 1 AS place, value->>0 AS low, value->>1 AS high
        FROM jsonb_array_elements(CAST(:bounds AS jsonb)) WITH ORDINALITY""",
    False: """SELECT key AS place, json_extract(value, '$[0]') AS low, json_extract(value, '$[1]') AS high
        FROM json_each(:bounds)""",
}
"""The ranges, by whether the engine is PostgreSQL."""


def parked_before() -> str:
    """Return the highest key of what is parked below a key."""
    return f"""SELECT max(source_partition_key) FROM {PARTITIONS}
        WHERE source_identifier = :source AND {PARKED} AND source_partition_key < :key"""


def _few(kind: str, where: str) -> str:
    """Return the query of what the clock decides about: :data:`LOOKED_AT` rows at most are read."""
    said = kind if " " in kind else f"'{kind}'"
    first = f"SELECT -1, {said} AS kind, 1, source_partition_key, NULL {where} ORDER BY due_at LIMIT {LOOKED_AT}"
    return f"SELECT * FROM ({first}) AS few_{'held' if ' ' in kind else kind}"


def key_ranges_of(rows: Iterable[Sequence[Any]], ends: Sequence[str]) -> KeyRanges:
    """Return the ranges that rows of :func:`key_ranges` say.

    :param ends: as :func:`ends_of` returned them.
    """
    encoded = [end.encode() for end in ends]
    found: dict[int, Counter[str]] = {}
    keys: dict[int, list[str]] = {}
    few = Counter[str]()
    for place, kind, count, first, last in rows:
        single = int(place) < 0
        few[kind] += single
        at = bisect_left(encoded, first.encode()) if single else int(place)
        found.setdefault(at, Counter())[kind] += int(count)
        if not single and first is not None:
            keys.setdefault(at, []).extend((first, last))
    whole = all(number < LOOKED_AT for number in (few[_LATER], few[_DUE], few[_ENDED] + few[_RENEWED]))
    return KeyRanges([_range(found[at], keys[at]) for at in sorted(keys)], whole)


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
