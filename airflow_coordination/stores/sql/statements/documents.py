"""Documents of a source: a row for each version, of which none is ever changed, and the partitions of a branch."""

from __future__ import annotations

from typing import Final

from airflow_coordination.protocol.beside.documents import ABSENT
from airflow_coordination.stores.sql.columns import DOCUMENT, DOCUMENTS, PARTITION, PARTITIONS
from airflow_coordination.stores.sql.indexes import IN_A_BRANCH, PARKED
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.values.status import COMPLETED

_ONE: Final = "source_identifier = :source AND name = :name"


def put(dialect: Dialect) -> str:
    """Return the statement that writes the next version if the newest one is ``:seen``.

    Of two that do so at once, the second finds the version there and writes nothing.
    """
    newest = f"coalesce((SELECT max(version) FROM {DOCUMENTS} WHERE {_ONE}), {ABSENT})"
    return f"""INSERT INTO {DOCUMENTS} ({DOCUMENT})
        SELECT :source, :name, :version, :content, :author, :comment, :op, {dialect.now}
        WHERE {newest} = :seen ON CONFLICT (source_identifier, name, version) DO NOTHING RETURNING version"""


def written() -> str:
    """Return the query of who has written a version.

    A statement of its own: it sees what a repetition of :func:`put` has waited for.
    """
    return f"SELECT op FROM {DOCUMENTS} WHERE {_ONE} AND version = :version"


def versions(*, before: bool) -> str:
    """Return the query of the newest versions of a document: the end of a range of the primary key."""
    older = "AND version < :before" if before else ""
    return f"SELECT {DOCUMENT} FROM {DOCUMENTS} WHERE {_ONE} {older} ORDER BY version DESC LIMIT :limit"


def forget(_: Dialect) -> str:
    """Return the statement that removes the versions that another one had followed at ``:before``."""
    counted = f"""SELECT max(version) FROM {DOCUMENTS} AS newer WHERE newer.source_identifier = :source
        AND newer.name = {DOCUMENTS}.name AND newer.at <= :before"""
    return f"""DELETE FROM {DOCUMENTS} WHERE source_identifier = :source
        AND substr(name, 1, :size) = :beginning AND version < ({counted}) RETURNING version"""


def look(dialect: Dialect, *, branch: bool) -> str:
    """Return the query of the time, how far a branch is, and the newest version of a document, if there is one."""
    counts = f"SELECT * FROM ({branch_counts()}) AS counts" if branch else "SELECT 0, 0, 0"
    return f"""WITH counts (partitions, completed, parked) AS ({counts}),
        newest AS (SELECT {DOCUMENT} FROM {DOCUMENTS} WHERE {_ONE} ORDER BY version DESC LIMIT 1)
        SELECT {dialect.now}, counts.partitions, counts.completed, counts.parked, newest.*
        FROM counts LEFT JOIN newest ON 1 = 1"""


ALL: Final = 2**31 - 1
"""More documents than a source has."""


def newest_of_all() -> str:
    """Return the query of the newest version of each document; from name to name, however many versions there are.

    It stops at ``:limit`` names, before it sorts: nothing is read of those behind them.
    """
    next_name = f"SELECT min(name) FROM {DOCUMENTS} WHERE source_identifier = :source"
    columns = ", ".join(f"d.{column}" for column in DOCUMENT.split(", "))
    return f"""WITH RECURSIVE known (name, number) AS (SELECT min(name), 1 FROM {DOCUMENTS}
            WHERE source_identifier = :source
            UNION ALL SELECT ({next_name} AND {DOCUMENTS}.name > known.name), known.number + 1
            FROM known WHERE known.name IS NOT NULL AND known.number < :limit)
        SELECT {columns} FROM known JOIN {DOCUMENTS} AS d ON d.source_identifier = :source AND d.name = known.name
        AND d.version = (SELECT max(version) FROM {DOCUMENTS} WHERE source_identifier = :source
            AND {DOCUMENTS}.name = known.name) ORDER BY d.name"""


_OF_BRANCH: Final = f"source_identifier = :source AND branch = :branch AND {IN_A_BRANCH}"


def branch_counts() -> str:
    """Return the query of how many partitions a branch has, how many have completed, and how many are parked."""
    return f"""SELECT count(*), coalesce(sum(CASE WHEN source_partition_status = '{COMPLETED}' THEN 1 ELSE 0 END), 0),
        coalesce(sum(CASE WHEN {PARKED} THEN 1 ELSE 0 END), 0) FROM {PARTITIONS} WHERE {_OF_BRANCH}"""


def branch_partitions() -> str:
    """Return the query of a page of a branch's partitions by key: a range of its index."""
    return f"""SELECT {PARTITION} FROM {PARTITIONS} WHERE {_OF_BRANCH} AND source_partition_key > :after
        ORDER BY source_partition_key LIMIT :limit"""
