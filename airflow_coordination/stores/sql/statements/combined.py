"""PostgreSQL's statements that do several things in one commit: data-modifying common table expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from airflow_coordination.stores.sql.columns import PARTITIONS
from airflow_coordination.stores.sql.statements import acquire, owner, records
from airflow_coordination.stores.sql.statements.dialect import Dialect, renamed
from airflow_coordination.stores.sql.statements.order import first_claimable, first_if_fresh
from airflow_coordination.stores.sql.statements.step import StepText
from airflow_coordination.stores.sql.statements.words import FREE, ROW

_NOT_THE_ENDED: Final = "AND source_partition_key <> :ended_key"


def with_records(dialect: Dialect, step: Callable[..., StepText], kinds: tuple[type, ...], **shape: Any) -> str:
    """Return the statement of a step that writes records beside its partition.

    :param step: makes the step's own statement, of ``shape``.
    :param kinds: of the records.
    """
    done = step(dialect, **shape)
    return f"WITH done AS ({done}){records.beside(dialect, done, kinds)} SELECT * FROM done"


def _one_key() -> str:
    """Return the key of one partition if nobody is changing it, as an expression: two such steps may cross."""
    return f"""(SELECT source_partition_key FROM {PARTITIONS} WHERE source_identifier = :source
        AND source_partition_key = :key {_NOT_THE_ENDED} FOR UPDATE SKIP LOCKED)"""


def end_and_acquire(
    dialect: Dialect,
    *,
    kinds: tuple[type, ...],
    following_kinds: tuple[type, ...],
    new_first: bool,
    by_key: bool,
    short: bool,
    **shape: Any,
) -> str:
    """Return the statement that ends one tenure and, only if this execution did, starts the next.

    :param kinds: of the records that the ending writes.
    :param following_kinds: of the records that the acquisition writes.
    :param short: look for a fresh partition only, and find none where anything else may be due.
    :param shape: of the ending.
    """
    done = owner.end(dialect, **shape)
    ended = records.beside(dialect, done, kinds)
    look = first_if_fresh if short else first_claimable
    key = _one_key() if by_key else look(dialect, new_first=new_first, only=_NOT_THE_ENDED)
    row = FREE if short else ROW
    following = acquire.acquire_found(dialect, key, also="EXISTS (SELECT 1 FROM done) AND", row=row)
    beside = records.beside(dialect, following, following_kinds, "following")
    return f"""WITH {renamed(f"done AS ({done}){ended}", "ended_")}, following AS ({following}){beside}
        SELECT answer.applied, following.* FROM (SELECT count(*) AS applied FROM done) AS answer
        LEFT JOIN following ON true"""
