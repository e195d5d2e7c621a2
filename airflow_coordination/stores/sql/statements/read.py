"""Reads, each one statement."""

from __future__ import annotations

from airflow_coordination.stores.sql.columns import HEAD, HEADS, META, PARTITION, PARTITIONS, SOURCES, Timed
from airflow_coordination.stores.sql.statements.dialect import Dialect


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


def page(*, one_status: bool) -> str:
    """Return a page of partitions by key."""
    status = "AND source_partition_status = :status" if one_status else ""
    return f"""SELECT {PARTITION} FROM {PARTITIONS} WHERE source_identifier = :source AND source_partition_key > :after
        AND deleted = 0 {status} ORDER BY source_partition_key LIMIT :limit"""


def counts() -> str:
    """Return how many partitions are in each status."""
    return f"""SELECT source_partition_status, count(*) FROM {PARTITIONS}
        WHERE source_identifier = :source AND deleted = 0 GROUP BY source_partition_status"""


def outlook(dialect: Dialect) -> str:
    """Return numbers of claimable, assigned, waiting, parked and completed partitions, and the nearest time ahead."""
    now = dialect.now
    return f"""SELECT
        sum(CASE WHEN status <> 'COMPLETED' AND due <= {now} THEN 1 ELSE 0 END),
        sum(CASE WHEN status = 'ASSIGNED' AND due > {now} THEN 1 ELSE 0 END),
        sum(CASE WHEN status IN ('UNASSIGNED', 'CLOSED') AND due > {now} THEN 1 ELSE 0 END),
        sum(CASE WHEN status <> 'COMPLETED' AND due IS NULL THEN 1 ELSE 0 END),
        sum(CASE WHEN status = 'COMPLETED' THEN 1 ELSE 0 END),
        min(CASE WHEN due > {now} THEN due END)
        FROM (SELECT source_partition_status AS status, CASE source_partition_status
            WHEN 'UNASSIGNED' THEN available_at WHEN 'CLOSED' THEN reopen_at
            WHEN 'ASSIGNED' THEN partition_ownership_timeout END AS due
            FROM {PARTITIONS} WHERE source_identifier = :source AND deleted = 0) AS living"""


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
