"""Looking for the floors of a queue: what is still being created, and what waits first in each range."""

from __future__ import annotations

from airflow_coordination.stores.sql.columns import PARTITIONS, Ready, Timed
from airflow_coordination.stores.sql.statements.create import PAGE_SEQUENCE
from airflow_coordination.stores.sql.statements.dialect import Dialect

_WRITERS = f"""SELECT virtualtransaction FROM pg_catalog.pg_locks WHERE locktype = 'relation'
    AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
    AND relation = '{PARTITIONS}'::regclass AND mode = 'RowExclusiveLock'
    AND pid IS DISTINCT FROM pg_catalog.pg_backend_pid()"""


def under_way(dialect: Dialect) -> str:
    """Return the query of the newest page, the time, and who has been writing partitions since before these two.

    A writer locks the table before it draws the number of its page or asks for the time, until what it wrote can be
    seen. The list is made for the row of the other two, and so after them. Without the right to see the number it is
    ``NULL``.
    """
    return f"""WITH given AS MATERIALIZED (SELECT CASE WHEN has_sequence_privilege('{PAGE_SEQUENCE}', 'USAGE')
            THEN pg_sequence_last_value('{PAGE_SEQUENCE}'::regclass) END AS page, {dialect.now} AS now)
        SELECT page, now, ARRAY({_WRITERS} AND given.now IS NOT NULL) FROM given"""


def spans(name: str) -> str:
    """Return the table of the ranges that a look is given under ``name``."""
    return f"""unnest(CAST(:{name}_first AS INTEGER[]), CAST(:{name}_last AS INTEGER[]), CAST(:{name}_low AS BIGINT[]))
        WITH ORDINALITY AS span (first, last, low, number)"""


def inside(span: str) -> str:
    """Return the condition on a fresh row that it is in a range and not below its floor.

    The last part is checked in the index alone, also where the range has more than one priority.
    """
    return f"""(priority, position) >= ({span}.first, {span}.low)
        AND priority <= {span}.last AND position >= {span}.low"""


def not_used_up(dialect: Dialect) -> str:
    """Return the condition on a row with a time that its time is not below the floor."""
    return "AND due_at >= :due_from" if dialect.locks else ""


def first_fresh(_: Dialect) -> str:
    """Return the query of the first fresh partition of each range, locking none: priority and position or NULL."""
    return f"""SELECT head.priority, head.position FROM {spans("sure")}
        LEFT JOIN LATERAL (SELECT priority, position FROM {PARTITIONS} WHERE source_identifier = :source
            AND ready = {Ready.FRESH:d} AND {inside("span")}
            ORDER BY priority, position, ordinal LIMIT 1) AS head ON true
        ORDER BY span.number"""


def first_due(_: Dialect) -> str:
    """Return the query of the first time that anything waits for, NULL when nothing does."""
    times = ", ".join(
        f"(SELECT min(due_at) FROM {PARTITIONS} WHERE source_identifier = :source AND timed = {timed:d}"
        f" AND due_at >= :due_from)"
        for timed in Timed
    )
    return f"SELECT least({times})"
