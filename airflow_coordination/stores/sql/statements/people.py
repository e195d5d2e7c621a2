"""People's actions: one conditional update each, on what the person saw."""

from __future__ import annotations

from typing import Final

from airflow_coordination.leases.partition import Outcome, PartitionStatus
from airflow_coordination.leases.writes import Action
from airflow_coordination.stores.sql.columns import AUDIT, HEADS, PARTITION, PARTITIONS, Ready
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.endings import entry, into_ring, quoted

_HELD_AS_SEEN: Final = "source_partition_status = 'ASSIGNED' AND token = :token AND nonce = :nonce"
_AS_SEEN: Final = "source_partition_status = :status AND token = :token AND last_op = :seen_op"
_NOT_WAITING: Final = "ready = NULL, timed = NULL, due_at = NULL"
_BACK_IN_PLACE: Final = f"rank = 2, ready = {Ready.RETURNED:d}, position = ordinal, timed = NULL, due_at = NULL"


def _effects(dialect: Dialect, action: Action) -> str:
    """Return the assignments that are the action's own."""
    return {
        Action.RELEASE: _BACK_IN_PLACE,
        Action.REOPEN: f"""rank = 1, ready = {Ready.REOPENED:d}, position = {dialect.now}, timed = NULL, due_at = NULL,
            failures = 0, lost_leases = 0""",
        Action.PARK: _NOT_WAITING,
        Action.RESET: f"""{_BACK_IN_PLACE}, failures = 0, lost_leases = 0, closed_count = 0, last_error = NULL,
            partition_progress_state = NULL, staged = NULL, generation = :op""",
        Action.DELETE: f"""{_NOT_WAITING}, deleted = 1, partition_progress_state = NULL, staged = NULL,
            payload = NULL""",
    }[action]


def _moves(dialect: Dialect, action: Action, *, held: bool) -> str:
    """Return the assignments of an action that leads the partition somewhere else."""
    parks = action is Action.PARK
    after = PartitionStatus.CLOSED if parks else PartitionStatus.UNASSIGNED
    available = "NULL" if parks or action is Action.DELETE else dialect.now
    ending = f"{into_ring(entry(dialect, Outcome.RELEASED, quoted(after)))}, confirmed = 0," if held else ""
    fence = "token = token + 1, nonce = :op," if held or action is Action.DELETE else ""
    return f"""{ending} {fence} {_effects(dialect, action)},
        source_partition_status = {quoted(after)}, reopen_at = NULL, available_at = {available},
        partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL,"""


def act(dialect: Dialect, action: Action, *, held: bool) -> str:
    """Return the statement of ``action`` on a partition that was seen ``held`` or not."""
    stays = action is Action.RETRACT
    return f"""UPDATE {PARTITIONS} SET {"" if stays else _moves(dialect, action, held=held)}
        last_op = :op, updated_at = {dialect.now}
        WHERE source_identifier = :source AND source_partition_key = :key AND deleted = 0
        AND {_HELD_AS_SEEN if held else _AS_SEEN} {"AND staged IS NULL" if stays else ""} RETURNING {PARTITION}"""


def retract_heads(dialect: Dialect, when: str = "") -> str:
    """Return the statement that empties a partition's head records; ``when`` is one more condition."""
    return f"""UPDATE {HEADS} SET blocks = '[]', row_count = 0, byte_count = 0, published_at = {dialect.now}
        WHERE source_identifier = :source AND source_partition_key = :key {when}"""


def put_audit(dialect: Dialect, source: str = "") -> str:
    """Return the statement that records an action; ``source`` is a FROM clause that gives a row if it was applied."""
    return f"""INSERT INTO {AUDIT} (source_identifier, source_partition_key, at, action, acted_by, why, op)
        SELECT :source, :key, {dialect.now}, :action, :by, :why, :op {source}"""


def list_audit(_: Dialect) -> str:
    """Return the statement that lists a partition's actions, oldest first."""
    return f"""SELECT source_partition_key, at, action, acted_by, why FROM {AUDIT}
        WHERE source_identifier = :source AND source_partition_key = :key ORDER BY number"""
