"""The rights of each role in PostgreSQL, as data; the printed SQL and the look of ``doctor`` are made from it.

A test takes each right away in turn, and something of the role's life breaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Final, Literal

from airflow_coordination.stores.sql.columns import (
    AUDIT,
    CHILDREN,
    CHUNKS,
    DOCUMENTS,
    ENDED,
    FOLLOW_UPS,
    HEADS,
    HISTORY,
    META,
    PARTITIONS,
    SOURCES,
)
from airflow_coordination.stores.sql.statements.create import PAGE_SEQUENCE
from airflow_coordination.stores.sql.statements.dialect import check_name, quote_name

Kind = Literal["database", "schema", "table", "sequence"]


class SqlRole(StrEnum):
    """The role in PostgreSQL that has the rights."""

    OWNER = "owner"
    """Makes the tables and migrates them, and so may do everything with them: ``store migrate``, ``store new-id``."""
    WORKER = "worker"
    """Operators, sensors, drivers and people's actions. Removes old history only; changes neither audit nor version."""
    READER = "reader"
    """Looks, and reads what was published."""


@dataclass(frozen=True, slots=True)
class Right:
    """One privilege on one thing.

    :param privilege: as SQL calls it.
    :param kind: what the thing is.
    :param name: the thing's name, empty for the database and the schema, which have names of their own everywhere.
    """

    privilege: str
    kind: Kind
    name: str = ""


def _on(kind: Kind, name: str, *privileges: str) -> tuple[Right, ...]:
    return tuple(Right(privilege, kind, name) for privilege in privileges)


_ALL: Final = (META, PARTITIONS, HEADS, SOURCES, AUDIT, HISTORY, FOLLOW_UPS, CHILDREN, CHUNKS, DOCUMENTS, ENDED)
RIGHTS: Final[dict[SqlRole, tuple[Right, ...]]] = {
    SqlRole.OWNER: (*_on("database", "", "CONNECT"), *_on("schema", "", "USAGE", "CREATE")),
    SqlRole.WORKER: (
        *_on("database", "", "CONNECT"),
        *_on("schema", "", "USAGE"),
        *_on("table", META, "SELECT"),
        *_on("table", PARTITIONS, "SELECT", "INSERT", "UPDATE"),
        *_on("table", HEADS, "SELECT", "INSERT", "UPDATE"),
        *_on("table", SOURCES, "SELECT", "INSERT", "UPDATE"),
        *_on("table", AUDIT, "SELECT", "INSERT"),
        *_on("table", HISTORY, "SELECT", "INSERT", "DELETE"),
        *_on("table", FOLLOW_UPS, "SELECT", "INSERT", "DELETE"),
        *_on("table", CHILDREN, "SELECT", "INSERT"),
        *_on("table", CHUNKS, "SELECT", "INSERT", "UPDATE", "DELETE"),
        *_on("table", DOCUMENTS, "SELECT", "INSERT"),
        *_on("table", ENDED, "SELECT", "INSERT", "UPDATE", "DELETE"),
        *_on("sequence", PAGE_SEQUENCE, "USAGE"),
    ),
    SqlRole.READER: (
        *_on("database", "", "CONNECT"),
        *_on("schema", "", "USAGE"),
        *(Right("SELECT", "table", table) for table in _ALL),
    ),
}


@dataclass(frozen=True, slots=True)
class Names:
    """The names that the rights are about.

    :param database: the store's database.
    :param schema: the schema of its tables.
    :param role: the PostgreSQL role that gets the rights.
    :raises SettingsError: when one of them cannot be a name.
    """

    database: str
    schema: str
    role: str

    def __post_init__(self) -> None:
        for field in ("database", "schema", "role"):
            check_name(field, getattr(self, field))

    def target(self, right: Right) -> str:
        """Return what ``right`` is on, as SQL."""
        if right.kind in ("database", "schema"):
            return f"{right.kind.upper()} {quote_name(getattr(self, right.kind))}"
        return f"{right.kind.upper()} {quote_name(self.schema)}.{quote_name(right.name)}"


def grants(role: SqlRole, names: Names) -> Iterator[str]:
    """Return the statements that give ``role`` its rights; repeated, they change nothing."""
    if role is SqlRole.OWNER:
        yield f"CREATE SCHEMA IF NOT EXISTS {quote_name(names.schema)};"
    for target, rights in groupby(RIGHTS[role], names.target):
        privileges = ", ".join(right.privilege for right in rights)
        yield f"GRANT {privileges} ON {target} TO {quote_name(names.role)};"
