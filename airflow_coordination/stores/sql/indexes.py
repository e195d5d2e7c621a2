"""The indexes of those who look, and how PostgreSQL's table is changed while others write."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from airflow_coordination.stores.sql.columns import PARTITIONS

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

_LOCK: Final = 0x636F6F7265
_POLL_SECONDS: Final = 0.2
_WRITERS_WAIT: Final = "500ms"
_WRITERS_GO_ON: Final = 0.5
_SHUT_OUT_SECONDS: Final = 60.0
_LOCK_NOT_AVAILABLE: Final = "55P03"


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


PARKED: Final = "deleted = 0 AND source_partition_status = 'CLOSED' AND reopen_at IS NULL"
MOVING: Final = "deleted = 0 AND (source_partition_status <> 'CLOSED' OR reopen_at IS NOT NULL)"
"""What is not parked. The two are what the indexes say, word by word: otherwise neither engine would use them."""

BLOCKED: Final = "waits_for IS NOT NULL"
"""What waits for a parent."""
STRAGGLERS: Final = "awaited_op IS NOT NULL AND source_partition_status = 'COMPLETED'"
"""What has finished, and somebody may still wait for it: older code has written its end."""

IN_A_BRANCH: Final = "branch IS NOT NULL AND deleted = 0"
"""What runs in a branch."""

VIEWS: Final = (
    Index(
        "coordination_partitions_status",
        "source_identifier, source_partition_status, source_partition_key",
        MOVING,
    ),
    Index("coordination_partitions_parked", "source_identifier, source_partition_key", PARKED),
)
"""Each partition is in one of them. No renewal changes a column of theirs, so that renewals go on to touch no index."""

FAMILIES: Final = (
    Index("coordination_partitions_blocked", "source_identifier, source_partition_key", BLOCKED),
    Index("coordination_partitions_stragglers", "source_identifier, source_partition_key", STRAGGLERS),
)
"""Of parents and children; empty where there are none."""

FOLLOWED: Final = (
    Index(
        "coordination_partitions_followed",
        "source_identifier, source_partition_key",
        f"{PARKED} AND on_parked IS NOT NULL",
    ),
)
"""What is parked, and something is still to follow."""


BRANCHES: Final = (
    Index("coordination_partitions_branch", "source_identifier, branch, source_partition_key", IN_A_BRANCH),
)
"""The partitions of a branch; empty where there is none."""


def creation(index: Index, how: str = "") -> str:
    """Return the statement that creates ``index`` where it is not there; ``how`` may be CONCURRENTLY."""
    return f"CREATE INDEX {how} IF NOT EXISTS {index.name} ON {PARTITIONS} ({index.columns}) WHERE {index.where}"


def build_beside_writers(connection: Connection, indexes: Sequence[Index]) -> None:
    """Build what is missing on PostgreSQL without locking writers out; what a failed attempt has left is built anew.

    :param connection: in autocommit mode: such a build waits for all older transactions, its own would be one.
    """
    if all(_is_valid(connection, index) for index in indexes):
        return
    connection.exec_driver_sql("SET statement_timeout = 0")
    while not connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({_LOCK})").scalar():
        time.sleep(_POLL_SECONDS)  # a waiting statement would be such a transaction, too
    try:
        for index in indexes:
            if _is_valid(connection, index) is False:
                connection.exec_driver_sql(f"DROP INDEX CONCURRENTLY {index.name}")
            connection.exec_driver_sql(creation(index, "CONCURRENTLY"))
    finally:
        connection.exec_driver_sql(f"SELECT pg_advisory_unlock({_LOCK})")


def shut_writers_out(connection: Connection) -> None:
    """Take the lock under which PostgreSQL changes the table, for the rest of the transaction.

    Writers queue behind whoever waits for it, and a reader who stays (a dump) refuses it. So it is asked for half a
    second at a time.

    :raises OperationalError: when it was not to be had for a minute.
    """
    from sqlalchemy.exc import OperationalError

    if connection.dialect.name != "postgresql":
        return
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_WRITERS_WAIT}'")
    until = time.monotonic() + _SHUT_OUT_SECONDS
    while True:
        try:
            with connection.begin_nested():
                connection.exec_driver_sql(f"LOCK TABLE {PARTITIONS} IN ACCESS EXCLUSIVE MODE")
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE or time.monotonic() >= until:
                raise
            time.sleep(_WRITERS_GO_ON)
        else:
            return


def _is_valid(connection: Connection, index: Index) -> bool | None:
    """Return whether the index is whole, ``None`` when there is none."""
    valid: bool | None = connection.exec_driver_sql(
        f"SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('{index.name}')"
    ).scalar()
    return valid
