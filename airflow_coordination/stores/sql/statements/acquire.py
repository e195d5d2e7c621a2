"""Acquiring: by query in the whole order, by key, by hint, and retaking."""

from __future__ import annotations

from airflow_coordination.leases.partition import Outcome, PartitionStatus
from airflow_coordination.stores.sql.columns import PARTITION, PARTITIONS, Timed
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.endings import COUNTS_AS_LOST, MAY_BE_LOST, entry, into_ring, quoted
from airflow_coordination.stores.sql.statements.order import first_claimable

__all__ = ["acquire_hinted", "acquire_key", "acquire_next", "claimable", "first_claimable", "granted", "retake"]

_KEY = "source_identifier = :source AND source_partition_key = :key"
_ASSIGNED = "source_partition_status = 'ASSIGNED'"


def granted(dialect: Dialect, ended: Outcome) -> str:
    """Return the assignments that start a tenure; a tenure that runs is ended with ``ended`` in the same step."""
    ending = entry(dialect, ended, quoted(PartitionStatus.ASSIGNED))
    return f"""
        {into_ring(ending, _ASSIGNED)},
        lost_leases = lost_leases + CASE WHEN {_ASSIGNED} THEN {COUNTS_AS_LOST} ELSE 0 END,
        source_partition_status = 'ASSIGNED', token = token + 1, nonce = :op, last_op = :op,
        max_lost_leases = :max_lost, partition_owner = :owner, owner_task = :owner_task, owner_try = :owner_try,
        partition_ownership_timeout = {dialect.now} + :timeout, due_at = {dialect.now} + :timeout,
        reopen_at = NULL, available_at = NULL, confirmed = 0, updated_at = {dialect.now},
        ready = NULL, timed = {Timed.HELD:d}"""


def claimable(dialect: Dialect) -> str:
    """Return the condition *claimable* for a row whose key is known.

    An acquisition by query has looked for such a row and locked it; that it *is* claimable stands in its update all the
    same, so that a mistake in the search can leave a partition waiting, but never take a healthy lease.
    """
    return f"""(
        ready IS NOT NULL
        OR timed IN ({Timed.DELAYED:d}, {Timed.CLOSED:d}) AND due_at <= {dialect.now}
        OR timed = {Timed.HELD:d} AND partition_ownership_timeout <= {dialect.now} AND {MAY_BE_LOST})"""


def acquire_next(dialect: Dialect, *, new_first: bool, only: str = "") -> str:
    """Return the statement that acquires whatever is first in the order; ``only`` is a further condition on the row."""
    first = first_claimable(dialect, new_first=new_first, only=only)
    return f"""UPDATE {PARTITIONS} SET {granted(dialect, Outcome.LOST)}
        WHERE source_identifier = :source AND source_partition_key = {first} AND {claimable(dialect)}
        RETURNING {PARTITION}"""


def acquire_key(dialect: Dialect) -> str:
    """Return the statement that acquires one partition, whatever its token."""
    return f"""UPDATE {PARTITIONS} SET {granted(dialect, Outcome.LOST)}
        WHERE {_KEY} AND {claimable(dialect)} RETURNING {PARTITION}"""


def acquire_hinted(dialect: Dialect) -> str:
    """Return the statement that acquires one partition if its token is still the one seen."""
    return f"""UPDATE {PARTITIONS} SET {granted(dialect, Outcome.LOST)}
        WHERE {_KEY} AND token = :token AND {claimable(dialect)} RETURNING {PARTITION}"""


def retake(dialect: Dialect) -> str:
    """Return the statement that takes a running tenure over from an earlier try of the same task."""
    return f"""UPDATE {PARTITIONS} SET {granted(dialect, Outcome.RETAKEN)}
        WHERE {_KEY} AND {_ASSIGNED} AND token = :token AND last_op = :seen_op
        AND owner_task = :owner_task AND owner_try < :below_try AND {MAY_BE_LOST}
        RETURNING {PARTITION}"""
