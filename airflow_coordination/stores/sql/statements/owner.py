"""The owner's writes: each one update under the fence, the chain's writes also under the operation before."""

from __future__ import annotations

from airflow_coordination.leases.fields import HEAD_FIELDS, HEAD_KEY
from airflow_coordination.leases.partition import RING_SIZE
from airflow_coordination.stores.sql.columns import HEAD, HEAD_KEY_COLUMNS, HEADS, PARTITION, PARTITIONS, RING
from airflow_coordination.stores.sql.statements.dialect import Dialect

FENCED = """source_identifier = :source AND source_partition_key = :key
    AND source_partition_status = 'ASSIGNED' AND token = :token AND nonce = :nonce"""
CHAINED = f"{FENCED} AND last_op = :prev"


def _longer(dialect: Dialect) -> str:
    """Return the assignments that hold the lease on; the indexed time moves only when half of the lease is over."""
    new = f"{dialect.now} + :timeout"
    later = f"CASE WHEN partition_ownership_timeout > {new} THEN partition_ownership_timeout ELSE {new} END"
    return f"""partition_ownership_timeout = {later},
        due_at = CASE WHEN due_at < {dialect.now} + :half THEN {later} ELSE due_at END"""


def adopt(_: Dialect) -> str:
    """Return the statement by which a later try of the task watches the tenure."""
    return f"""UPDATE {PARTITIONS} SET partition_owner = :owner, owner_task = :owner_task, owner_try = :owner_try
        WHERE {FENCED} AND owner_try <= :owner_try RETURNING 1"""


def renew(dialect: Dialect) -> str:
    """Return the statement that holds the lease on; no chain write."""
    return f"""UPDATE {PARTITIONS} SET {_longer(dialect)}, confirmed = 1 WHERE {FENCED}
        RETURNING partition_ownership_timeout"""


def begin(dialect: Dialect) -> str:
    """Return the statement that is a driver's first write."""
    return f"""UPDATE {PARTITIONS} SET {_longer(dialect)}, last_op = :op, updated_at = {dialect.now}
        WHERE {CHAINED} RETURNING {PARTITION}"""


def save(dialect: Dialect) -> str:
    """Return the statement that stores progress and the blocks it stands for."""
    return f"""UPDATE {PARTITIONS} SET {_longer(dialect)}, partition_progress_state = :progress, staged = :staged,
        last_op = :op, updated_at = {dialect.now} WHERE {CHAINED}
        RETURNING partition_ownership_timeout"""


def end(dialect: Dialect, slot: int, *, keep_progress: bool, clear_staged: bool) -> str:
    """Return the statement that ends a tenure.

    :param slot: the ring's slot of the tenure's token.
    """
    progress = "" if keep_progress else "partition_progress_state = :progress,"
    staged = "staged = NULL," if clear_staged else ""
    return f"""UPDATE {PARTITIONS} SET {RING[slot % RING_SIZE]} = :entry || {dialect.now}, {progress} {staged}
        source_partition_status = :status, closed_count = :closed_count, failures = :failures,
        lost_leases = :lost_leases, last_error = :last_error,
        rank = 2, reopen_at = {dialect.now} + :reopen_delay, available_at = {dialect.now} + :available_delay,
        generation = :generation, last_op = :op, confirmed = 0, updated_at = {dialect.now},
        partition_owner = NULL, owner_task = NULL, owner_try = NULL, partition_ownership_timeout = NULL,
        ready = :ready, position = ordinal, timed = :timed, due_at = {dialect.now} + :due_delay
        WHERE {CHAINED} RETURNING source_partition_key"""


_REPLACED = ", ".join(
    f"{field.column} = excluded.{field.column}" for field in HEAD_FIELDS if field.name not in HEAD_KEY
)


def put_heads(values: str) -> str:
    """Return the statement that puts head records, new or in the place of older ones."""
    return f"""INSERT INTO {HEADS} ({HEAD}) {values}
        ON CONFLICT ({", ".join(HEAD_KEY_COLUMNS)}) DO UPDATE SET {_REPLACED}"""
