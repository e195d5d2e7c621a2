"""Reads, each one statement."""

from __future__ import annotations

from typing import Final

from airflow_coordination.stores.sql.columns import (
    HEAD,
    HEADS,
    META,
    PARTITION,
    PARTITIONS,
    SOURCES,
    Ready,
    Timed,
    pause_and_failures,
)
from airflow_coordination.stores.sql.indexes import BLOCKED, MOVING, PARKED
from airflow_coordination.stores.sql.queue import inside, not_used_up, spans
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.values.status import PartitionStatus

_BY_KEY: Final = "ORDER BY source_partition_key LIMIT :limit"
LEASES_LOOKED_AT: Final = 100
"""Among how many leases the first end is looked for: a renewed one ends later than the index says."""
WAITING_LOOKED_AT: Final = 25
"""Among how many that are ready for one reason the oldest is looked for: the first in the acquisition order."""


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


def page(*, status: PartitionStatus | None, parked: bool | None) -> str:
    """Return a page of partitions by key: the first of one range of an index, or of several.

    :param status: ``None`` = all.
    :param parked: only those that are parked, or only those that are not; ``None`` = both.
    """
    one_by_one = PartitionStatus if status is None else (status,)
    ranges = [] if parked else [_moving(each) for each in one_by_one]
    if parked or (parked is None and status is PartitionStatus.CLOSED):
        ranges.append(f"AND {PARKED}")
    if status is None and parked is None:
        ranges = ["AND deleted = 0"]
    living = f"SELECT {PARTITION} FROM {PARTITIONS} WHERE source_identifier = :source AND source_partition_key > :after"
    firsts = [f"{living} {each} {_BY_KEY}" for each in ranges]
    if len(firsts) == 1:
        return firsts[0]
    merged = " UNION ALL ".join(f"SELECT * FROM ({first}) AS range_{n}" for n, first in enumerate(firsts))
    return f"{merged} {_BY_KEY}"


def _moving(status: PartitionStatus) -> str:
    """Return the range of the index of what is in a status and not parked."""
    return f"AND {MOVING} AND source_partition_status = '{status}'"


def _count(condition: str) -> str:
    return f"(SELECT count(*) FROM {PARTITIONS} WHERE source_identifier = :source {condition})"


_PARKED: Final = _count(f"AND {PARKED}")


def _in(status: PartitionStatus) -> str:
    """Return the number of what is in a status and not parked."""
    return _count(_moving(status))


def blocked(inside: str = "") -> str:
    """Return the number of what waits for parents, from two indexes.

    What somebody has parked or finished meanwhile waits, too, and is not blocked: it is in the first index alone.

    :param inside: which keys are meant.
    """
    free = f"{MOVING} AND source_partition_status = 'UNASSIGNED'"
    return _count(f"""AND {BLOCKED} {inside} AND source_partition_key IN (SELECT source_partition_key FROM {PARTITIONS}
        WHERE source_identifier = :source AND {free} {inside})""")


def counts() -> str:
    """Return how many partitions are in each status, from the indexes alone: one range each, two for CLOSED."""
    also = {PartitionStatus.CLOSED: f" + {_PARKED}"}
    return f"SELECT {', '.join(_in(status) + also.get(status, '') for status in PartitionStatus)}"


def accounting(dialect: Dialect) -> str:
    """Return how many partitions of a source have delivered, under an empty name, and the sums of their counts by name.

    Only totals of a partition's own generation count. One statement, so that they belong together.
    """
    stored, generation, each = _JSON[dialect.locks]
    return f"""WITH stored AS MATERIALIZED (SELECT {stored} AS totals, generation FROM {PARTITIONS}
            WHERE source_identifier = :source AND deleted = 0 AND accounting IS NOT NULL),
        counted AS (SELECT totals FROM stored WHERE {generation} = generation)
        SELECT '' AS name, count(*) AS total FROM counted
        UNION ALL SELECT each.key, sum(CAST(each.value AS {"NUMERIC" if dialect.locks else "INTEGER"}))
        FROM counted CROSS JOIN {each} GROUP BY each.key"""


_JSON: Final = {
    True: (
        "CAST(accounting AS jsonb)",
        "totals->>'generation'",
        "LATERAL jsonb_each_text(totals->'counts') AS each (key, value)",
    ),
    False: ("accounting", "json_extract(totals, '$.generation')", "json_each(totals, '$.counts') AS each"),
}
"""The JSON of an accounting, its generation and its counts, by whether the engine is PostgreSQL."""


def outlook(dialect: Dialect) -> str:
    """Return the fields of ``Outlook`` in their order: one statement, so that they belong together.

    What is in a status is counted in its index, of the rest only what is parked, delayed or due: the others follow.
    """
    now = dialect.now
    due = f"AND due_at <= {now} {not_used_up(dialect)}"
    ahead = " UNION ALL ".join(
        f"SELECT min(due_at) AS due FROM {PARTITIONS} WHERE source_identifier = :source AND timed = {timed:d}"
        f" AND due_at > {now}"
        for timed in (Timed.DELAYED, Timed.CLOSED)
    )
    return f"""WITH numbers AS MATERIALIZED (SELECT
            {_in(PartitionStatus.UNASSIGNED)} AS unassigned, {_in(PartitionStatus.ASSIGNED)} AS assigned,
            {_in(PartitionStatus.CLOSED)} AS closed, {_in(PartitionStatus.COMPLETED)} AS completed,
            {_PARKED} AS parked, {blocked()} AS blocked,
            {_count(f"AND timed = {Timed.DELAYED:d}")} AS delayed,
            {_count(f"AND timed = {Timed.DELAYED:d} {due}")} AS due_delayed,
            {_count(f"AND timed = {Timed.CLOSED:d} {due}")} AS due_closed,
            expired, expired_since FROM (SELECT count(*) AS expired, min(partition_ownership_timeout) AS expired_since
            FROM {PARTITIONS} WHERE source_identifier = :source AND timed = {Timed.HELD:d} {due}
            AND partition_ownership_timeout <= {now}) AS ended)
        SELECT unassigned - blocked - delayed + due_delayed + due_closed + expired, assigned - expired,
        delayed - due_delayed + closed - due_closed, parked, completed,
        (SELECT min(due) FROM ({ahead} UNION ALL {first_end(now, due)}) AS times), due_closed + expired,
        {now} - (SELECT min(since) FROM ({_oldest(dialect, due)} UNION ALL SELECT expired_since) AS claimable),
        blocked, expired, {pause_and_failures(now)} FROM numbers LEFT JOIN {SOURCES} ON source_identifier = :source"""


def _oldest(dialect: Dialect, due: str) -> str:
    """Return the queries of since when what is ready, delayed or closed can be acquired: few rows of each."""
    ready = [f"SELECT * FROM ({_first_ready(dialect, ready)}) AS ready_{ready:d}" for ready in Ready]
    timed = [
        f"SELECT min(due_at) FROM {PARTITIONS} WHERE source_identifier = :source AND timed = {timed:d} {due}"
        for timed in (Timed.DELAYED, Timed.CLOSED)
    ]
    return " UNION ALL ".join([*ready, *timed])


def _first_ready(dialect: Dialect, ready: Ready) -> str:
    """Return the query of since when the first that are ready for one reason can be acquired."""
    first = f"""SELECT available_at AS since FROM {PARTITIONS} WHERE source_identifier = :source
        AND ready = {ready:d} {{}} ORDER BY priority, position, ordinal LIMIT {WAITING_LOOKED_AT}"""
    if not (dialect.locks and ready is Ready.FRESH):
        return first.format("")
    each = first.format(f"AND {inside('span')}")
    return f"SELECT since FROM {spans('sure')} CROSS JOIN LATERAL ({each}) AS fresh LIMIT {WAITING_LOOKED_AT}"


def first_end(now: str, due: str) -> str:
    """Return the queries of the first end of a lease ahead: exact among few leases, among many it may be too early.

    No lease ends before the time in the index. So of those that the index names first, the last one's time is a bound
    for all that come after them.
    """
    held = f"FROM {PARTITIONS} WHERE source_identifier = :source AND timed = {Timed.HELD:d}"
    ahead = f"{held} AND due_at > {now} ORDER BY due_at"
    return f"""SELECT min(partition_ownership_timeout) {held} {due} AND partition_ownership_timeout > {now}
        UNION ALL SELECT min(ends) FROM (SELECT partition_ownership_timeout AS ends {ahead}
            LIMIT {LEASES_LOOKED_AT}) AS first_held
        UNION ALL SELECT * FROM (SELECT due_at {ahead} LIMIT 1 OFFSET {LEASES_LOOKED_AT - 1}) AS last_held"""


def heads(*, one_dataset: bool, one_key: bool, goes_on: bool, within: bool) -> str:
    """Return head records by key, then by dataset.

    :param goes_on: whether to go on inside the partition ``after``, above ``after_dataset``.
    :param within: only those that may have a moment between ``start`` and ``end``.
    """
    above = "source_partition_key > :after"
    if goes_on:  # the first condition is the index's
        above = f"source_partition_key >= :after AND ({above} OR dataset > :after_dataset)"
    dataset = "AND dataset = :dataset" if one_dataset else ""
    key = "AND source_partition_key = :key" if one_key else ""
    among = "AND (interval_start IS NULL OR (interval_start < :end AND interval_end > :start))" if within else ""
    return f"""SELECT {HEAD} FROM {HEADS} WHERE source_identifier = :source AND {above}
        {dataset} {key} {among} ORDER BY source_partition_key, dataset LIMIT :limit"""


def put_source(dialect: Dialect) -> str:
    """Return the statement that records what is known of a source."""
    return f"""INSERT INTO {SOURCES} (source_identifier, facts, updated_at) VALUES (:source, :facts, {dialect.now})
        ON CONFLICT (source_identifier) DO UPDATE SET facts = excluded.facts, updated_at = excluded.updated_at"""


def list_sources() -> str:
    """Return the registered sources by name."""
    return f"SELECT source_identifier, facts FROM {SOURCES} ORDER BY source_identifier"
