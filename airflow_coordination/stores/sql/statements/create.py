"""Creating partitions in pages: what is absent is inserted, tombstones of other operations are revived."""

from __future__ import annotations

from typing import Final

from airflow_coordination.protocol.fields import PARTITION_FIELDS
from airflow_coordination.stores.sql.columns import META, PARTITIONS, Ready
from airflow_coordination.stores.sql.statements.dialect import Dialect

PAGE_SEQUENCE: Final = "coordination_pages"
PLACES_PER_PAGE: Final = 1 << 20
"""Ordinals are (number of the page) × this + place in the page: the supplier's list order without a counter per row."""

NEW: Final = (
    "source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank,"
    " closed_count, failures, lost_leases, available_at, created_at, updated_at, token, nonce,"
    " last_op, create_op, generation, confirmed, deleted, ready, position"
)
_GIVEN: Final = ("payload_text", "available_at", "created_at", "updated_at", "parents", "waits_for")
_FORGOTTEN: Final = ", ".join(
    f"{field.column} = NULL" for field in PARTITION_FIELDS if field.optional and field.name not in _GIVEN
)
REVIVED: Final = (
    "source_partition_status = 'UNASSIGNED', rank = 2, closed_count = 0, failures = 0, lost_leases = 0,"
    f" {_FORGOTTEN}, last_op = :op, create_op = :op, generation = :op, confirmed = 0, deleted = 0,"
    " timed = NULL, due_at = NULL"
)
_WITHOUT_PARENTS: Final = f"ready = {Ready.FRESH:d}, parents = NULL, waits_for = NULL"


def fresh(now: str, ordinal: str, *, ready: str = f"{Ready.FRESH:d}", available: str | None = None) -> str:
    """Return the values of ``NEW`` for what is ``given``.

    :param available: from when on it can be acquired, ``None`` = at once.
    """
    return f""":source, given.key, 'UNASSIGNED', given.payload, given.priority, {ordinal}, 2, 0, 0, 0,
        {available or now}, {now}, {now}, 0, '', :op, :op, :op, 0, 0, {ready}, {ordinal}"""


def next_page() -> str:
    """Return SQLite's statement that numbers a page of creations."""
    return f"UPDATE {META} SET pages = pages + 1 RETURNING pages"


def given_page(dialect: Dialect) -> str:
    """Return the page as a common table expression: key, payload, priority, place and parents.

    On SQLite also what each waits for: there the parents have been judged before.
    """
    if dialect.locks:
        return """given AS MATERIALIZED (SELECT * FROM unnest(CAST(:keys AS TEXT[]), CAST(:payloads AS TEXT[]),
            CAST(:priorities AS INTEGER[]), CAST(:places AS BIGINT[]), CAST(:parents AS TEXT[]))
            AS page (key, payload, priority, place, parents))"""
    return """given AS MATERIALIZED (SELECT key AS place, json_extract(value, '$[0]') AS key,
        json_extract(value, '$[1]') AS payload, json_extract(value, '$[2]') AS priority,
        json_extract(value, '$[3]') AS parents, json_extract(value, '$[4]') AS waits_for FROM json_each(:page))"""


def create_page_in_transaction(dialect: Dialect) -> str:
    """Return SQLite's statement for a whole page whose number is known."""
    now, ordinal = dialect.now, ":first + given.place"
    return f"""WITH {given_page(dialect)}
        INSERT INTO {PARTITIONS} ({NEW}) SELECT {fresh(now, ordinal)} FROM given WHERE true ORDER BY given.place
        ON CONFLICT (source_identifier, source_partition_key) DO UPDATE SET {REVIVED}, {_WITHOUT_PARENTS},
        payload = excluded.payload, priority = excluded.priority, ordinal = excluded.ordinal,
        position = excluded.ordinal, available_at = {now}, created_at = {now}, updated_at = {now}
        WHERE deleted = 1 AND create_op <> :op RETURNING 1"""


def create_page(dialect: Dialect) -> str:
    """Return PostgreSQL's statement for a whole page; existing rows are neither locked nor written.

    It makes and locks rows by key, so that two pages of the same keys in opposite order do not wait for each other.
    Where it has made all of them, it looks for no tombstones.
    """
    now = "(SELECT now FROM page)"  # asked once: the clock costs 0.4 µs, three times a row
    ordinal = f"(SELECT number FROM page) * {PLACES_PER_PAGE} + given.place"
    return f"""WITH {given_page(dialect)},
        page AS MATERIALIZED (SELECT nextval('{PAGE_SEQUENCE}') AS number, {dialect.now} AS now),
        made AS (INSERT INTO {PARTITIONS} ({NEW}) SELECT {fresh(now, ordinal)} FROM given ORDER BY given.key COLLATE "C"
            ON CONFLICT (source_identifier, source_partition_key) DO NOTHING RETURNING 1),
        revived AS (UPDATE {PARTITIONS} AS p SET {REVIVED}, {_WITHOUT_PARENTS},
            payload = given.payload, priority = given.priority, ordinal = {ordinal}, position = {ordinal},
            available_at = {now}, created_at = {now}, updated_at = {now}
            FROM given WHERE (SELECT count(*) FROM made) < (SELECT count(*) FROM given)
            AND p.source_identifier = :source AND p.deleted = 1
            AND p.source_partition_key = given.key AND p.create_op <> :op RETURNING 1)
        SELECT (SELECT count(*) FROM made) + (SELECT count(*) FROM revived)"""


def compare_page(dialect: Dialect) -> str:
    """Return the statement that tells, for a page with existing keys, which are whose and which differ."""
    other = "IS DISTINCT FROM" if dialect.locks else "IS NOT"
    differs = f"p.payload {other} given.payload OR p.parents {other} given.parents"
    return f"""WITH {given_page(dialect)}, found AS MATERIALIZED (
            SELECT given.key, given.place, CASE WHEN p.create_op = :op THEN 1 ELSE 0 END AS mine,
            CASE WHEN {differs} OR p.priority <> given.priority THEN 1 ELSE 0 END AS differs
            FROM given JOIN {PARTITIONS} AS p ON p.source_identifier = :source AND p.source_partition_key = given.key)
        SELECT (SELECT sum(mine) FROM found), key FROM (SELECT NULL AS key, -1 AS place UNION ALL
            SELECT * FROM (SELECT key, place FROM found WHERE mine = 0 AND differs = 1 ORDER BY place LIMIT 100)
            AS differing) AS answer ORDER BY place"""


def reset_of_page(dialect: Dialect) -> str:
    """Return the statement that tells which of a page were reset, held by nobody since, and have another payload."""
    other = "IS DISTINCT FROM" if dialect.locks else "IS NOT"
    was_reset = "p.last_op = p.generation AND p.generation <> p.create_op"
    return f"""WITH {given_page(dialect)}
        SELECT given.key, p.generation, p.payload FROM given
        JOIN {PARTITIONS} AS p ON p.source_identifier = :source AND p.source_partition_key = given.key
        WHERE p.deleted = 0 AND p.source_partition_status = 'UNASSIGNED' AND {was_reset}
        AND p.payload {other} given.payload ORDER BY given.place"""
