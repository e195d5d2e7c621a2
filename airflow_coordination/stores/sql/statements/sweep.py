"""The sweep: reclaiming expired leases, reopening what is due, and queueing what was delayed."""

from __future__ import annotations

from airflow_coordination.leases.partition import Outcome, PartitionStatus
from airflow_coordination.leases.steps import LOST_LEASES_ERROR
from airflow_coordination.stores.sql.columns import PARTITIONS, Ready, Timed
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.endings import COUNTS_AS_LOST, MAX_LOST, entry, into_ring
from airflow_coordination.stores.sql.statements.used_up import not_used_up

_LOST = f"(lost_leases + {COUNTS_AS_LOST})"
_PARKS = f"{COUNTS_AS_LOST} = 1 AND {_LOST} >= {MAX_LOST}"
_BEFORE, _AFTER = LOST_LEASES_ERROR.split("{}")


def found(dialect: Dialect, due: str) -> str:
    """Return a comparison with the keys of what is due and nobody else is changing, the longest due first."""
    query = f"""SELECT source_partition_key FROM {PARTITIONS} WHERE source_identifier = :source AND {due}
        {not_used_up(dialect)} ORDER BY due_at LIMIT :limit"""
    # As a join, PostgreSQL may run the query again for each row, and would lock further rows each time.
    return f"= ANY (ARRAY ({query} FOR UPDATE SKIP LOCKED))" if dialect.locks else f"IN ({query})"


def _swept(dialect: Dialect, timed: Timed, also: str = "") -> str:
    """Return the condition on a row that is swept: it is due by itself, whatever the search has found.

    As IS TRUE, the condition leaves the update to the primary key, and the index to the search.
    """
    due = f"timed = {timed:d} AND due_at <= {dialect.now} {also}"
    return f"""source_identifier = :source AND source_partition_key {found(dialect, due)} AND ({due}) IS TRUE"""


def reclaim(dialect: Dialect) -> str:
    """Return the statement that ends expired leases; the last lost lease parks, otherwise the partition goes first."""
    status = f"CASE WHEN {_PARKS} THEN '{PartitionStatus.CLOSED}' ELSE '{PartitionStatus.UNASSIGNED}' END"
    return f"""UPDATE {PARTITIONS} SET {into_ring(entry(dialect, Outcome.LOST, status))},
        source_partition_status = {status}, lost_leases = {_LOST},
        last_error = CASE WHEN {_PARKS} THEN '{_BEFORE}' || {_LOST} || '{_AFTER}' ELSE last_error END,
        rank = CASE WHEN {_PARKS} THEN rank ELSE 0 END,
        available_at = CASE WHEN {_PARKS} THEN NULL ELSE partition_ownership_timeout END,
        position = partition_ownership_timeout, ready = CASE WHEN {_PARKS} THEN NULL ELSE {Ready.CRASHED:d} END,
        timed = NULL, due_at = NULL, reopen_at = NULL, confirmed = 0, last_op = :op, updated_at = {dialect.now},
        partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL
        WHERE {_swept(dialect, Timed.HELD, f"AND partition_ownership_timeout <= {dialect.now}")}
        RETURNING source_partition_status"""


def reopen(dialect: Dialect) -> str:
    """Return the statement that reopens what is CLOSED until now."""
    return f"""UPDATE {PARTITIONS} SET source_partition_status = 'UNASSIGNED', rank = 1, available_at = reopen_at,
        position = reopen_at, ready = {Ready.REOPENED:d}, timed = NULL, due_at = NULL, reopen_at = NULL,
        last_op = :op, updated_at = {dialect.now} WHERE {_swept(dialect, Timed.CLOSED)} RETURNING 1"""


def promote(dialect: Dialect) -> str:
    """Return the statement that queues delayed partitions whose time has come; nothing else of them changes."""
    return f"""UPDATE {PARTITIONS} SET ready = {Ready.RETURNED:d}, position = ordinal, timed = NULL, due_at = NULL
        WHERE {_swept(dialect, Timed.DELAYED)}"""
