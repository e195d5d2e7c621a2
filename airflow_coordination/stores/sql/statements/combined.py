"""PostgreSQL's statements that do two things in one commit: data-modifying common table expressions."""

from __future__ import annotations

from typing import Final

from airflow_coordination.leases.fields import Kind
from airflow_coordination.leases.partition import Outcome
from airflow_coordination.leases.writes import Action
from airflow_coordination.stores.sql.columns import GIVEN_OF_HEAD, PARTITION, PARTITIONS
from airflow_coordination.stores.sql.statements import acquire, owner, people
from airflow_coordination.stores.sql.statements.dialect import Dialect, renamed

_ARRAYS: Final = {Kind.TEXT: "TEXT[]", Kind.BLOCKS: "TEXT[]", Kind.NUMBER: "BIGINT[]"}
_NOT_THE_ENDED: Final = "AND source_partition_key <> :ended_key"


def _ending(dialect: Dialect, *, slot: int, keep_progress: bool, clear_staged: bool, with_heads: bool) -> str:
    """Return the expressions ``done`` (a row if the ending was applied) and, with output, ``moved``."""
    done = f"done AS ({owner.end(dialect, slot, keep_progress=keep_progress, clear_staged=clear_staged)})"
    if not with_heads:
        return done
    arrays = ", ".join(f"CAST(:heads_{field.column} AS {_ARRAYS[field.kind]})" for field in GIVEN_OF_HEAD)
    columns = ", ".join(field.column for field in GIVEN_OF_HEAD)
    values = f"""SELECT {", ".join(f"head.{field.column}" for field in GIVEN_OF_HEAD)}, {dialect.now} FROM done
        CROSS JOIN unnest({arrays}) AS head ({columns})"""
    return f"{done}, moved AS ({owner.put_heads(values)})"


def end_with_heads(dialect: Dialect, *, slot: int, keep_progress: bool, clear_staged: bool) -> str:
    """Return the statement that ends a tenure and puts its head records."""
    ending = _ending(dialect, slot=slot, keep_progress=keep_progress, clear_staged=clear_staged, with_heads=True)
    return f"WITH {ending} SELECT source_partition_key FROM done"


def _one_key() -> str:
    """Return the key of one partition if nobody is changing it, as an expression: two such steps may cross."""
    return f"""(SELECT source_partition_key FROM {PARTITIONS} WHERE source_identifier = :source
        AND source_partition_key = :key {_NOT_THE_ENDED} FOR UPDATE SKIP LOCKED)"""


def end_and_acquire(
    dialect: Dialect,
    *,
    slot: int,
    keep_progress: bool,
    clear_staged: bool,
    with_heads: bool,
    new_first: bool,
    by_key: bool,
) -> str:
    """Return the statement that ends one tenure and, only if this execution did, starts the next."""
    ending = _ending(dialect, slot=slot, keep_progress=keep_progress, clear_staged=clear_staged, with_heads=with_heads)
    key = _one_key() if by_key else acquire.first_claimable(dialect, new_first=new_first, only=_NOT_THE_ENDED)
    following = f"""UPDATE {PARTITIONS} SET {acquire.granted(dialect, Outcome.LOST)}
        WHERE EXISTS (SELECT 1 FROM done) AND source_identifier = :source AND source_partition_key = {key}
        AND {acquire.claimable(dialect)} RETURNING {PARTITION}"""
    return f"""WITH {renamed(ending, "ended_")}, following AS ({following})
        SELECT answer.applied, following.* FROM (SELECT count(*) AS applied FROM done) AS answer
        LEFT JOIN following ON true"""


def act_and_audit(dialect: Dialect, action: Action, *, held: bool) -> str:
    """Return the statement that carries out a person's action and records it."""
    emptied = people.retract_heads(dialect, "AND EXISTS (SELECT 1 FROM done)")
    heads = f", emptied AS ({emptied})" if action is Action.RETRACT else ""
    return f"""WITH done AS ({people.act(dialect, action, held=held)}),
        noted AS ({people.put_audit(dialect, "FROM done")}){heads} SELECT * FROM done"""
