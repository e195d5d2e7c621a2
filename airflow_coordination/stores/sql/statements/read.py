"""Reads, each one statement."""

from __future__ import annotations

from typing import Final

from airflow_coordination.leases.partition import PartitionStatus
from airflow_coordination.stores.sql.columns import HEAD, HEADS, META, PARTITION, PARTITIONS, SOURCES, Timed
from airflow_coordination.stores.sql.statements.dialect import Dialect

PARKED: Final = "AND source_partition_status = 'CLOSED' AND reopen_at IS NULL"
"""The words of the index of what is parked."""
LEASES_LOOKED_AT: Final = 1_000
"""Among how many leases the first end is looked for: a renewed one ends later than the index says."""


def meta() -> str:
    """Return the one read of a process's start."""
    return f"SELECT store_id, schema_version, readable_by FROM {META}"


def now(dialect: Dialect) -> str:
    """Return the store's clock."""
    return f"SELECT {dialect.now}"


def get() -> str:
    """Return one partition, tombstones included."""
    return f"SELECT {PARTITION} FROM {PARTITIONS} WHERE source_identifier = :source AND source_partition_key = :key"


def find_nonce() -> str:
    """Return the ASSIGNED partition under a nonce."""
    return f"""SELECT {PARTITION} FROM {PARTITIONS}
        WHERE source_identifier = :source AND timed = {Timed.HELD:d} AND nonce = :nonce"""


def find_task() -> str:
    """Return what any try of a task holds."""
    return f"""SELECT {PARTITION} FROM {PARTITIONS}
        WHERE source_identifier = :source AND timed = {Timed.HELD:d} AND owner_task = :task
        ORDER BY source_partition_key"""


def held(dialect: Dialect) -> str:
    """Return how many leases are held in all sources, and when the last of them ends."""
    return f"""SELECT count(*), max(partition_ownership_timeout) FROM {PARTITIONS}
        WHERE timed = {Timed.HELD:d} AND partition_ownership_timeout > {dialect.now}"""


def page(*, one_status: bool, parked: bool | None) -> str:
    """Return a page of partitions by key; ``parked`` alone names the status, too."""
    status = "AND source_partition_status = :status" if one_status else ""
    wanted = {
        None: status,
        True: PARKED,
        False: f"{status} AND NOT (source_partition_status = 'CLOSED' AND reopen_at IS NULL)",
    }
    return f"""SELECT {PARTITION} FROM {PARTITIONS} WHERE source_identifier = :source AND source_partition_key > :after
        AND deleted = 0 {wanted[parked]} ORDER BY source_partition_key LIMIT :limit"""


def _count(condition: str) -> str:
    return f"(SELECT count(*) FROM {PARTITIONS} WHERE source_identifier = :source {condition})"


def _in(status: PartitionStatus) -> str:
    return _count(f"AND deleted = 0 AND source_partition_status = '{status}'")


def counts() -> str:
    """Return how many partitions are in each status, from the index alone: one range each."""
    return f"SELECT {', '.join(_in(status) for status in PartitionStatus)}"


def outlook(dialect: Dialect) -> str:
    """Return how many are claimable, assigned, waiting, parked and completed, the nearest time ahead, and the overdue.

    What is in a status is counted in its index, of the rest only what is parked, delayed or due: the others follow.
    """
    now = dialect.now
    due = f"AND due_at <= {now}"
    ahead = " UNION ALL ".join(
        f"SELECT min(due_at) AS due FROM {PARTITIONS} WHERE source_identifier = :source AND timed = {timed:d}"
        f" AND due_at > {now}"
        for timed in (Timed.DELAYED, Timed.CLOSED)
    )
    return f"""SELECT unassigned - delayed + due_delayed + due_closed + expired, assigned - expired,
        delayed - due_delayed + closed - parked - due_closed, parked, completed,
        (SELECT min(due) FROM ({ahead} UNION ALL {_first_end(now)}) AS times), due_closed + expired
        FROM (SELECT {_in(PartitionStatus.UNASSIGNED)} AS unassigned, {_in(PartitionStatus.ASSIGNED)} AS assigned,
            {_in(PartitionStatus.CLOSED)} AS closed, {_in(PartitionStatus.COMPLETED)} AS completed,
            {_count(f"AND deleted = 0 {PARKED}")} AS parked,
            {_count(f"AND timed = {Timed.DELAYED:d}")} AS delayed,
            {_count(f"AND timed = {Timed.DELAYED:d} {due}")} AS due_delayed,
            {_count(f"AND timed = {Timed.CLOSED:d} {due}")} AS due_closed,
            {_count(f"AND timed = {Timed.HELD:d} {due} AND partition_ownership_timeout <= {now}")} AS expired)
            AS numbers"""


def _first_end(now: str) -> str:
    """Return the query of the first end of a lease ahead, among those that the index names first."""
    return f"""SELECT min(ends) FROM (SELECT partition_ownership_timeout AS ends FROM {PARTITIONS}
        WHERE source_identifier = :source AND timed = {Timed.HELD:d} ORDER BY due_at LIMIT {LEASES_LOOKED_AT}) AS held
        WHERE ends > {now}"""


def heads(*, one_dataset: bool, one_key: bool, within: bool) -> str:
    """Return head records by key, then by dataset.

    :param within: whether to go on inside the partition ``after``, above ``after_dataset``.
    """
    above = "source_partition_key > :after"
    if within:  # the first condition is the index's
        above = f"source_partition_key >= :after AND ({above} OR dataset > :after_dataset)"
    dataset = "AND dataset = :dataset" if one_dataset else ""
    key = "AND source_partition_key = :key" if one_key else ""
    return f"""SELECT {HEAD} FROM {HEADS} WHERE source_identifier = :source AND {above}
        {dataset} {key} ORDER BY source_partition_key, dataset LIMIT :limit"""


def put_source(dialect: Dialect) -> str:
    """Return the statement that records what is known of a source."""
    return f"""INSERT INTO {SOURCES} (source_identifier, facts, updated_at) VALUES (:source, :facts, {dialect.now})
        ON CONFLICT (source_identifier) DO UPDATE SET facts = excluded.facts, updated_at = excluded.updated_at"""


def list_sources() -> str:
    """Return the registered sources by name."""
    return f"SELECT source_identifier, facts FROM {SOURCES} ORDER BY source_identifier"
