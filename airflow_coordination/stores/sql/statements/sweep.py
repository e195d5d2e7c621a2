"""The sweep: reclaiming expired leases, reopening what is due, and queueing what was delayed."""

from __future__ import annotations

from airflow_coordination.protocol.rules import RECLAIM, REOPEN
from airflow_coordination.stores.sql.columns import PARTITIONS, Ready, Timed
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.step import StepText, step
from airflow_coordination.stores.sql.statements.symbols import SWEEP
from airflow_coordination.stores.sql.statements.used_up import not_used_up
from airflow_coordination.stores.sql.statements.words import SqlWords


def found(dialect: Dialect, due: str) -> str:
    """Return a comparison with the keys of what is due and nobody else is changing, the longest due first."""
    query = f"""SELECT source_partition_key FROM {PARTITIONS} WHERE source_identifier = :source AND {due}
        {not_used_up(dialect)} ORDER BY due_at LIMIT :limit"""
    # As a join, PostgreSQL may run the query again for each row, and would lock further rows each time.
    return f"= ANY (ARRAY ({query} FOR UPDATE SKIP LOCKED))" if dialect.locks else f"IN ({query})"


def _due(dialect: Dialect, timed: Timed, also: str = "") -> str:
    """Return the comparison that finds, by the index, what is due; whether it is changed is the rule's to say."""
    due = f"timed = {timed:d} AND due_at <= {dialect.now} {also}"
    return f"source_identifier = :source AND source_partition_key {found(dialect, due)}"


def reclaim(dialect: Dialect) -> StepText:
    """Return the statement that ends expired leases; the last lost lease parks, otherwise the partition goes first."""
    expired = _due(dialect, Timed.HELD, f"AND partition_ownership_timeout <= {dialect.now}")
    return step(
        SqlWords(dialect), RECLAIM, SWEEP, found=expired, returning="source_partition_key, source_partition_status"
    )


def reopen(dialect: Dialect) -> StepText:
    """Return the statement that reopens what is CLOSED until now."""
    return step(SqlWords(dialect), REOPEN, SWEEP, found=_due(dialect, Timed.CLOSED), returning="1")


def promote(dialect: Dialect) -> str:
    """Return the statement that queues delayed partitions whose time has come; nothing else of them changes.

    As IS TRUE, the condition leaves the update to the primary key, and the index to the search.
    """
    due = f"timed = {Timed.DELAYED:d} AND due_at <= {dialect.now}"
    return f"""UPDATE {PARTITIONS} SET ready = {Ready.RETURNED:d}, position = ordinal, timed = NULL, due_at = NULL
        WHERE {_due(dialect, Timed.DELAYED)} AND ({due}) IS TRUE"""
