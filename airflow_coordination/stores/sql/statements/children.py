"""Parents and children: judging the parents of a page, and releasing who waits for what has finished.

On PostgreSQL a release is a statement of its own, after the one that has finished the parent: only its newer snapshot
shows children that were created while that one waited for the parent's row. A child's own row says what it waits for,
and one parent is taken off it as it stands then: two parents that finish at once both arrive.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

from airflow_coordination.protocol.rules import RELEASE_CHILD
from airflow_coordination.stores.sql.columns import CHILDREN, PARTITION, PARTITIONS
from airflow_coordination.stores.sql.indexes import BLOCKED, STRAGGLERS
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.step import StepText, step
from airflow_coordination.stores.sql.statements.words import SqlWords

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
