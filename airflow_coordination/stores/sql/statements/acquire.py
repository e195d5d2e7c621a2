"""Acquiring: the acquisition order (protocol.md), by query, by key, by hint, and retaking."""

from __future__ import annotations

from typing import Any, Final

from airflow_coordination.protocol.rules import ACQUIRE, ACQUIRE_AS_SEEN, RETAKE, STEAL
from airflow_coordination.protocol.writes import AcquireHinted, AcquireNext, Retake, Steal
from airflow_coordination.stores.sql.columns import PARTITION, PARTITIONS, Ready, Timed
from airflow_coordination.stores.sql.queue import LOWEST, inside, not_used_up, spans
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.step import FREE, MAX_LOST, ROW, SqlWords, StepText, step, symbols

_CLASSES: Final = ("crashed", "reopened", "new")
_TIMED_OF: Final = {"crashed": Timed.HELD, "reopened": Timed.CLOSED, "new": Timed.DELAYED}
_READY_OF: Final = {"crashed": (Ready.CRASHED,), "reopened": (Ready.REOPENED,), "new": (Ready.RETURNED, Ready.FRESH)}
_AGE_OF: Final = {Timed.HELD: "partition_ownership_timeout", Timed.CLOSED: "reopen_at", Timed.DELAYED: "ordinal"}
_ANY_AGE: Final = f"CASE timed {' '.join(f'WHEN {timed:d} THEN {age}' for timed, age in _AGE_OF.items())} END"
_NONE: Final = "CAST(NULL AS INTEGER)"
MAY_BE_LOST: Final = SqlWords.within(ROW.lost_leases, ROW.max_lost_leases, MAX_LOST)
_ORDER: Final = "ORDER BY priority, position, ordinal"

_ANY_RANGE: Final = f"CAST({2**31 - 1} AS INTEGER) AS last, CAST({LOWEST} AS BIGINT) AS low"
_OWN_RANGE: Final = "span.last, span.low"
_HEAD: Final = "key, token, ready, timed, priority, position, ordinal, last, low"


def _select(ready: str, timed: str, position: str, span: str = _ANY_RANGE) -> str:
    return (
        f"SELECT source_partition_key AS key, token, {ready} AS ready, {timed} AS timed,"
        f" priority, {position} AS position, ordinal, {span} FROM {PARTITIONS} WHERE source_identifier = :source"
    )


def ready_branch(ready: Ready, only: str = "", limit: str = "1") -> str:
    """Return the query of what is ready at once for one reason; index order, no sort."""
    return f"{_select(f'{ready:d}', _NONE, 'position')} AND ready = {ready:d} {only} {_ORDER} LIMIT {limit}"


def fresh_branch(name: str, only: str = "", limit: str = "1") -> str:
    """Return the query of what is fresh in the ranges ``name`` and not below their floors, the first of each."""
    fresh = f"{Ready.FRESH:d}"
    return f"""SELECT {", ".join(f"head.{column}" for column in _HEAD.split(", "))} FROM {spans(name)}
        CROSS JOIN LATERAL ({_select(fresh, _NONE, "position", _OWN_RANGE)} AND ready = {fresh} AND {inside("span")}
            {only} {_ORDER} LIMIT {limit}) AS head"""


def timed_branch(dialect: Dialect, timed: Timed, only: str = "", limit: str = "1", *, may_park: bool = False) -> str:
    """Return the query of what has become due and no sweep has seen yet.

    :param may_park: include leases that only a sweep may end, because it parks their partitions.
    """
    age = _AGE_OF[timed]
    really = ""
    if timed is Timed.HELD:
        really = f"AND {age} <= {dialect.now}" + ("" if may_park else f" AND {MAY_BE_LOST}")
    return f"""{_select(_NONE, f"{timed:d}", age)} AND timed = {timed:d} AND due_at <= {dialect.now}
        {not_used_up(dialect)} {really} {only} ORDER BY priority, {age}, ordinal LIMIT {limit}"""


def _ready(dialect: Dialect, ready: Ready, spans: str, only: str = "", limit: str = "1") -> str:
    if dialect.locks and ready is Ready.FRESH:
        return fresh_branch(spans, only, limit)
    return ready_branch(ready, only, limit)


def _branches(dialect: Dialect, name: str, only: str) -> list[str]:
    branches = [_ready(dialect, ready, "near", only) for ready in _READY_OF[name]]
    return [*branches, timed_branch(dialect, _TIMED_OF[name], only)]


def _union(branches: list[str]) -> str:
    return " UNION ALL ".join(f"SELECT * FROM ({branch}) AS branch_{n}" for n, branch in enumerate(branches))


def _free_from_head(dialect: Dialect, only: str) -> str:
    """Return the query that locks the first free row at or after ``head`` in its branch."""
    ready = f"""SELECT source_partition_key AS key FROM {PARTITIONS}
        WHERE source_identifier = :source AND ready = head.ready {only}
        AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal)
        AND priority <= head.last AND position >= head.low {_ORDER} LIMIT 1 FOR UPDATE SKIP LOCKED"""
    timed = f"""SELECT source_partition_key AS key FROM {PARTITIONS}
        WHERE source_identifier = :source AND timed = head.timed AND due_at <= {dialect.now}
        {not_used_up(dialect)} {only}
        AND (timed <> {Timed.HELD:d} OR partition_ownership_timeout <= {dialect.now} AND {MAY_BE_LOST})
        ORDER BY priority, {_ANY_AGE}, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED"""
    return _union([ready, timed])


def _first_of(dialect: Dialect, branches: list[str], only: str) -> str:
    """Return the key of the first free row of some branches. Looking at their heads first locks only what is taken."""
    heads = f"SELECT * FROM ({_union(branches)}) AS heads {_ORDER}"
    if not dialect.locks:
        return f"(SELECT key FROM ({heads} LIMIT 1) AS head)"
    # LATERAL, because FOR UPDATE may not stand below UNION ALL: the rows of all heads would be locked, and every other
    # worker would skip them. Locked is one row, in the branch of the first head that still has a free one.
    free = _free_from_head(dialect, only)
    return f"(SELECT free.key FROM ({heads}) AS head CROSS JOIN LATERAL ({free}) AS free LIMIT 1)"


def first_claimable(dialect: Dialect, *, new_first: bool, only: str = "") -> str:
    """Return the key of the first partition of the order that nobody is acquiring, as an expression.

    A class is asked only when those before it have nothing, and what this process has passed only when nothing is left.

    :param only: a further condition on the row.
    """
    names = ("new", "crashed", "reopened") if new_first else _CLASSES
    picks = [_first_of(dialect, _branches(dialect, name, only), only) for name in names]
    if dialect.locks:
        picks.append(_first_of(dialect, [fresh_branch("sure", only)], only))
    return f"coalesce({', '.join(picks)})"


def first_if_fresh(dialect: Dialect, *, new_first: bool, only: str = "") -> str:
    """Return the key of the first fresh partition that nobody is acquiring, if nothing can go before it.

    This is what a queue mostly answers, for a third of the cost of :func:`first_claimable`: of whatever else could be
    first, only one entry of its index is looked for. ORDER BY keeps the planner in that index, where NOT EXISTS made it
    read the table.

    :param only: a further condition on the row.
    """
    early = f"ready = {Ready.RETURNED:d}" if new_first else f"ready < {Ready.FRESH:d}"
    times = (Timed.DELAYED,) if new_first else Timed
    others = [f"(SELECT ready FROM {PARTITIONS} WHERE source_identifier = :source AND {early} ORDER BY ready LIMIT 1)"]
    others += [
        f"""(SELECT due_at FROM {PARTITIONS} WHERE source_identifier = :source AND timed = {timed:d}
        AND due_at <= {dialect.now} {not_used_up(dialect)} ORDER BY due_at LIMIT 1)"""
        for timed in times
    ]
    nothing_else = " AND ".join(f"{other} IS NULL" for other in others)
    # The ranges are in the order of their priorities, so the first row found is the first of all: only it is locked.
    return f"""(SELECT fresh.key FROM {spans("near")} CROSS JOIN LATERAL (
        SELECT source_partition_key AS key FROM {PARTITIONS} WHERE source_identifier = :source
        AND ready = {Ready.FRESH:d} AND {inside("span")} {only} {_ORDER} LIMIT 1 FOR UPDATE SKIP LOCKED) AS fresh
        WHERE {nothing_else} LIMIT 1)"""


def claimable_list(dialect: Dialect) -> str:
    """Return the statement that lists key and token of what can be acquired, in the order."""
    parts = []
    for place, name in enumerate(_CLASSES):
        branches = [_ready(dialect, ready, "sure", limit=":limit") for ready in _READY_OF[name]]
        branches.append(timed_branch(dialect, _TIMED_OF[name], limit=":limit", may_park=True))
        parts.append(f"SELECT {place} AS class, all_{place}.* FROM ({_union(branches)}) AS all_{place}")
    return f"""SELECT key, token FROM ({" UNION ALL ".join(parts)}) AS everything
        ORDER BY class, priority, position, ordinal LIMIT :limit"""


def acquire_found(dialect: Dialect, key: str, also: str = "", row: Any = ROW) -> StepText:
    """Return the statement that acquires the partition whose key an expression finds, under one more condition.

    :param row: ``FREE`` where the expression finds no running tenure.
    """
    found = f"{also} source_identifier = :source AND source_partition_key = {key}"
    return step(SqlWords(dialect), ACQUIRE, symbols(AcquireNext), found=found, row=row, returning=PARTITION)


def acquire_next(dialect: Dialect, *, new_first: bool, only: str = "") -> StepText:
    """Return the statement that acquires whatever is first in the order; ``only`` is a further condition on the row."""
    return acquire_found(dialect, first_claimable(dialect, new_first=new_first, only=only))


def find_first(dialect: Dialect, *, new_first: bool, only: str = "") -> str:
    """Return SQLite's statement that finds what is first in the order, with its status."""
    return f"""SELECT source_partition_key, source_partition_status FROM {PARTITIONS}
        WHERE source_identifier = :source
        AND source_partition_key = {first_claimable(dialect, new_first=new_first, only=only)}"""


def acquire_fresh(dialect: Dialect, *, new_first: bool) -> StepText:
    """Return the short way of :func:`acquire_next`: it finds nothing as soon as anything but the fresh may be due."""
    return acquire_found(dialect, first_if_fresh(dialect, new_first=new_first), row=FREE)


def acquire_key(dialect: Dialect) -> StepText:
    """Return the statement that acquires one partition, whatever its token."""
    return step(SqlWords(dialect), ACQUIRE, symbols(AcquireNext), returning=PARTITION)


def acquire_hinted(dialect: Dialect) -> StepText:
    """Return the statement that acquires one partition if its token is still the one seen."""
    return step(SqlWords(dialect), ACQUIRE_AS_SEEN, symbols(AcquireHinted), returning=PARTITION)


def acquire_free(dialect: Dialect) -> StepText:
    """Return the short way of :func:`acquire_hinted`: it refuses a partition that somebody holds, expired or not."""
    return step(SqlWords(dialect), ACQUIRE_AS_SEEN, symbols(AcquireHinted), row=FREE, returning=PARTITION)


def steal(dialect: Dialect) -> StepText:
    """Return the statement that takes a running tenure which was asked for and not handed over."""
    return step(SqlWords(dialect), STEAL, symbols(Steal), returning=PARTITION)


def retake(dialect: Dialect) -> StepText:
    """Return the statement that takes a running tenure over from an earlier try of the same task."""
    return step(SqlWords(dialect), RETAKE, symbols(Retake), returning=PARTITION)
