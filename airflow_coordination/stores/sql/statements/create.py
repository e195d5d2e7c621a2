"""Creating partitions in pages, with and without parents, and releasing who waits for what has finished."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

from airflow_coordination.protocol.fields import PARTITION_FIELDS
from airflow_coordination.protocol.rules import RELEASE_CHILD
from airflow_coordination.stores.sql.columns import CHILDREN, META, PARTITION, PARTITIONS, Ready
from airflow_coordination.stores.sql.indexes import BLOCKED, STRAGGLERS
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.step import SqlWords, StepText, step

PAGE_SEQUENCE: Final = "coordination_pages"
PLACES_PER_PAGE: Final = 1 << 20
"""Ordinals are (number of the page) × this + place in the page: the supplier's list order without a counter per row."""

NEW: Final = (
    "source_identifier, source_partition_key, source_partition_status, payload, priority, ordinal, rank,"
    " closed_count, failures, lost_leases, available_at, created_at, updated_at, token, nonce,"
    " last_op, create_op, generation, confirmed, deleted, ready, position, branch"
)
_BRANCH: Final = "CAST(:branch AS BIGINT)"
_GIVEN: Final = ("payload_text", "branch", "available_at", "created_at", "updated_at", "parents", "waits_for")
_FORGOTTEN: Final = ", ".join(
    f"{field.column} = NULL" for field in PARTITION_FIELDS if field.optional and field.name not in _GIVEN
)
REVIVED: Final = (
    "source_partition_status = 'UNASSIGNED', rank = 2, closed_count = 0, failures = 0, lost_leases = 0,"
    f" {_FORGOTTEN}, branch = {_BRANCH}, last_op = :op, create_op = :op, generation = :op, confirmed = 0, deleted = 0,"
    " timed = NULL, due_at = NULL"
)
_WITHOUT_PARENTS: Final = f"ready = {Ready.FRESH:d}, parents = NULL, waits_for = NULL"


def fresh(now: str, ordinal: str, *, ready: str = f"{Ready.FRESH:d}", available: str | None = None) -> str:
    """Return the values of ``NEW`` for what is ``given``.

    :param available: from when on it can be acquired, ``None`` = at once.
    """
    return f""":source, given.key, 'UNASSIGNED', given.payload, given.priority, {ordinal}, 2, 0, 0, 0,
        {available or now}, {now}, {now}, 0, '', :op, :op, :op, 0, 0, {ready}, {ordinal}, {_BRANCH}"""


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


_RELEASE: Final = SimpleNamespace(parent=":parent")
_OF_PARENT: Final = f"SELECT child_key FROM {CHILDREN} WHERE source_identifier = :source AND parent_key = :parent"

A_PARENT: Final = "(deleted = 0 OR source_partition_status = 'COMPLETED')"
"""What may be named as a parent: what is there, and what was cleaned up when it had finished."""


def release(dialect: Dialect) -> StepText:
    """Return the statement that releases everyone who waits for ``:parent``, if it is completed."""
    found = f"source_identifier = :source AND source_partition_key IN ({_OF_PARENT})"
    if dialect.locks:  # by key, so that two parents of the same children do not wait for each other
        finished = f"""EXISTS (SELECT 1 FROM {PARTITIONS} WHERE source_identifier = :source
            AND source_partition_key = :parent AND source_partition_status = 'COMPLETED')"""
        locked = f"""SELECT source_partition_key FROM {PARTITIONS} WHERE {found} AND {BLOCKED} AND {finished}
            ORDER BY source_partition_key FOR UPDATE"""
        found = f"source_identifier = :source AND source_partition_key = ANY (ARRAY ({locked}))"
    return step(SqlWords(dialect), RELEASE_CHILD, _RELEASE, found=f"{found} AND {BLOCKED}", returning="1")


def stragglers(_: Dialect) -> str:
    """Return the keys of what has finished without releasing who waits for it: older code has written its end."""
    return f"""SELECT source_partition_key FROM {PARTITIONS} WHERE source_identifier = :source AND {STRAGGLERS}
        ORDER BY source_partition_key LIMIT :limit"""


def settle_straggler() -> str:
    """Return the statement that takes the stamp off one of them; it holds its row for the release that follows."""
    return f"""UPDATE {PARTITIONS} SET awaited_op = NULL WHERE source_identifier = :source
        AND source_partition_key = :parent AND {STRAGGLERS} RETURNING 1"""


def children(dialect: Dialect) -> str:
    """Return a page of those who name ``:parent`` as one of their parents, by key."""
    return f"""SELECT {PARTITION} FROM {PARTITIONS} WHERE source_identifier = :source
        AND source_partition_key IN ({_OF_PARENT} AND child_key > :after) AND parents IS NOT NULL
        AND {dialect.among(":parent", "parents")} ORDER BY source_partition_key LIMIT :limit"""


def absent() -> str:
    """Return SQLite's query of the keys of a page that a creation makes."""
    return f"""SELECT given.value FROM json_each(:keys) AS given LEFT JOIN {PARTITIONS} AS p
        ON p.source_identifier = :source AND p.source_partition_key = given.value
        WHERE p.source_partition_key IS NULL OR (p.deleted = 1 AND p.create_op <> :op)"""


def statuses() -> str:
    """Return SQLite's query of the statuses of some parents."""
    return f"""SELECT source_partition_key, source_partition_status FROM {PARTITIONS}
        WHERE source_identifier = :source AND {A_PARENT}
        AND source_partition_key IN (SELECT value FROM json_each(:keys))"""


def put_child() -> str:
    """Return SQLite's statement that notes one of a partition's parents."""
    return f"""INSERT INTO {CHILDREN} (source_identifier, parent_key, child_hash, child_key)
        VALUES (:source, :parent, :hash, :key) ON CONFLICT DO NOTHING"""


def stamp() -> str:
    """Return SQLite's statement that says on a parent that somebody waits for it."""
    return f"""UPDATE {PARTITIONS} SET awaited_op = :op WHERE source_identifier = :source
        AND source_partition_key = :parent"""


_READY: Final = f"CASE WHEN given.waits_for IS NULL THEN {Ready.FRESH:d} END"
_GIVEN_WITH_PARENTS: Final = ("payload", "priority", "parents", "waits_for")
_AS_INSERTED: Final = ", ".join(
    f"{column} = excluded.{column}"
    for column in (*_GIVEN_WITH_PARENTS, "ordinal", "position", "available_at", "created_at", "updated_at", "ready")
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


def create_page_of_children(dialect: Dialect) -> str:
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
