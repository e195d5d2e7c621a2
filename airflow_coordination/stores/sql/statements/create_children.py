"""Creating a page of partitions of which some have parents: these wait for whoever has not finished in this very step.

A parent's row is locked, so that it finishes either before the page is created or after it, and then finds its
children: the stamp on it says that there are some.
"""

from __future__ import annotations

from typing import Final

from airflow_coordination.stores.sql.columns import CHILDREN, PARTITIONS, Ready
from airflow_coordination.stores.sql.statements.children import A_PARENT
from airflow_coordination.stores.sql.statements.create import (
    NEW,
    PAGE_SEQUENCE,
    PLACES_PER_PAGE,
    REVIVED,
    fresh,
    given_page,
)
from airflow_coordination.stores.sql.statements.dialect import Dialect

_READY: Final = f"CASE WHEN given.waits_for IS NULL THEN {Ready.FRESH:d} END"
_GIVEN: Final = ("payload", "priority", "parents", "waits_for")
_AS_INSERTED: Final = ", ".join(
    f"{column} = excluded.{column}"
    for column in (*_GIVEN, "ordinal", "position", "available_at", "created_at", "updated_at", "ready")
)


def _values(now: str, ordinal: str) -> str:
    """Return the values of a new child: while it waits for a parent, it has no time, and is in no queue."""
    available = f"CASE WHEN given.waits_for IS NULL THEN {now} END"
    return f"{fresh(now, ordinal, ready=_READY, available=available)}, given.parents, given.waits_for"


def create_in_transaction(dialect: Dialect) -> str:
    """Return SQLite's statement for a page whose number is known, and what each of it waits for."""
    values = _values(dialect.now, ":first + given.place")
    return f"""WITH {given_page(dialect)}
        INSERT INTO {PARTITIONS} ({NEW}, parents, waits_for) SELECT {values} FROM given WHERE true ORDER BY given.place
        ON CONFLICT (source_identifier, source_partition_key) DO UPDATE SET {REVIVED}, {_AS_INSERTED}
        WHERE deleted = 1 AND create_op <> :op RETURNING 1"""


def create_page(dialect: Dialect) -> str:
    """Return PostgreSQL's statement: how many it has made, and a child and a parent where there is no such parent.

    One statement, so that a client that stops in the middle holds no lock. Parents are locked by key, in their newest
    version; nothing is made where one of them does not exist.
    """
    values = _values("page.now", f"page.number * {PLACES_PER_PAGE} + given.place")
    mine = "source_identifier = :source"
    return f"""WITH {given_page(dialect)},
        page AS MATERIALIZED (SELECT nextval('{PAGE_SEQUENCE}') AS number, {dialect.now} AS now),
        absent AS MATERIALIZED (SELECT given.* FROM given LEFT JOIN {PARTITIONS} AS p
            ON p.{mine} AND p.source_partition_key = given.key
            WHERE p.source_partition_key IS NULL OR (p.deleted = 1 AND p.create_op <> :op)),
        named AS MATERIALIZED (SELECT absent.key AS child, each.parent FROM absent
            CROSS JOIN LATERAL jsonb_array_elements_text(CAST(absent.parents AS jsonb)) AS each (parent)),
        locked AS MATERIALIZED (SELECT source_partition_key AS parent, source_partition_status = 'COMPLETED' AS finished
            FROM {PARTITIONS} WHERE {mine} AND {A_PARENT} AND source_partition_key IN (SELECT parent FROM named)
            ORDER BY source_partition_key FOR UPDATE),
        unknown AS MATERIALIZED (SELECT child, parent FROM named
            WHERE parent NOT IN (SELECT parent FROM locked) ORDER BY child, parent LIMIT 1),
        waiting AS MATERIALIZED (SELECT child, CAST(jsonb_agg(parent) AS TEXT) AS waits_for
            FROM named JOIN locked USING (parent) WHERE NOT finished GROUP BY child),
        judged AS MATERIALIZED (SELECT absent.*, waiting.waits_for FROM absent
            LEFT JOIN waiting ON waiting.child = absent.key WHERE NOT EXISTS (SELECT 1 FROM unknown)),
        made AS (INSERT INTO {PARTITIONS} ({NEW}, parents, waits_for)
            SELECT {values} FROM judged AS given CROSS JOIN page ORDER BY given.key COLLATE "C"
            ON CONFLICT (source_identifier, source_partition_key) DO UPDATE SET {REVIVED}, {_AS_INSERTED}
            WHERE {PARTITIONS}.deleted = 1 AND {PARTITIONS}.create_op <> :op
            RETURNING source_partition_key AS child),
        noted AS (INSERT INTO {CHILDREN} (source_identifier, parent_key, child_hash, child_key)
            SELECT :source, parent, encode(sha256(convert_to(child, 'UTF8')), 'hex'), child
            FROM named JOIN made USING (child) ON CONFLICT DO NOTHING),
        stamped AS (UPDATE {PARTITIONS} SET awaited_op = :op WHERE {mine} AND source_partition_key = ANY (ARRAY (
            SELECT parent FROM locked JOIN named USING (parent) JOIN made USING (child) WHERE NOT finished)))
        SELECT (SELECT count(*) FROM made), (SELECT child FROM unknown), (SELECT parent FROM unknown)"""
