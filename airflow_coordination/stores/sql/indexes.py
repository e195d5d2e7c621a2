"""The indexes of those who look, and how PostgreSQL builds them while others write."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from sqlalchemy.engine import Connection

from airflow_coordination.stores.sql.columns import PARTITIONS

_LOCK: Final = 0x636F6F7265
_POLL_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class Index:
    """A partial index of the partitions.

    :param name: its name.
    :param columns: what it is ordered by.
    :param where: which rows are in it.
    """

    name: str
    columns: str
    where: str


VIEWS: Final = (
    Index(
        "coordination_partitions_status",
        "source_identifier, source_partition_status, source_partition_key",
        "deleted = 0",
    ),
    Index(
        "coordination_partitions_parked",
        "source_identifier, source_partition_key",
        "deleted = 0 AND source_partition_status = 'CLOSED' AND reopen_at IS NULL",
    ),
)
"""No renewal changes a column of theirs, so that renewals go on to touch no index."""


def creation(index: Index, how: str = "") -> str:
    """Return the statement that creates ``index`` where it is not there; ``how`` may be CONCURRENTLY."""
    return f"CREATE INDEX {how} IF NOT EXISTS {index.name} ON {PARTITIONS} ({index.columns}) WHERE {index.where}"


def build_beside_writers(connection: Connection) -> None:
    """Build what is missing on PostgreSQL without locking writers out; what a failed attempt has left is built anew.

    :param connection: in autocommit mode: such a build waits for all older transactions, its own would be one.
    """
    if all(_is_valid(connection, index) for index in VIEWS):
        return
    connection.exec_driver_sql("SET statement_timeout = 0")
    while not connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({_LOCK})").scalar():
        time.sleep(_POLL_SECONDS)  # a waiting statement would be such a transaction, too
    try:
        for index in VIEWS:
            if _is_valid(connection, index) is False:
                connection.exec_driver_sql(f"DROP INDEX CONCURRENTLY {index.name}")
            connection.exec_driver_sql(creation(index, "CONCURRENTLY"))
    finally:
        connection.exec_driver_sql(f"SELECT pg_advisory_unlock({_LOCK})")


def _is_valid(connection: Connection, index: Index) -> bool | None:
    """Return whether the index is whole, ``None`` when there is none."""
    valid: bool | None = connection.exec_driver_sql(
        f"SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('{index.name}')"
    ).scalar()
    return valid
