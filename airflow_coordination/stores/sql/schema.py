"""Setting the schema up, migrating it, and checking that code and store understand each other (promise S16)."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final

from airflow_coordination.stores.calls import Call, StoreFacts, check, no_schema
from airflow_coordination.stores.sql.columns import META
from airflow_coordination.stores.sql.database import Database
from airflow_coordination.stores.sql.indexes import (
    BRANCHES,
    FAMILIES,
    FOLLOWED,
    VIEWS,
    build_beside_writers,
    shut_writers_out,
)
from airflow_coordination.stores.sql.statements import read
from airflow_coordination.values.names import COPY

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

SCHEMA_VERSION: Final = 17
"""The schema that this code writes."""
OLDEST_USABLE: Final = 17
"""The oldest schema that this code works with."""
READABLE_BY: Final = 1
"""The oldest code, by its schema version, that may work with a store of this schema."""

_MIGRATIONS: Final = Path(__file__).parent / "migrations"


def read_facts(database: Database, description: str) -> StoreFacts:
    """Read the store's facts: the one read of a process's start.

    :raises SchemaVersionError: when the tables do not exist, or this code is too old or too new for them.
    """
    rows = database.fetch(Call("read the store's version", writes=False), database.dialect.statement(read.meta()), {})
    if not rows:
        raise no_schema(description, "its set-up was never finished")
    facts = StoreFacts(*rows[0])
    check(facts, description, known=SCHEMA_VERSION, oldest=OLDEST_USABLE)
    return facts


def set_up(database: Database, description: str) -> StoreFacts:
    """Create the schema or migrate it to this code's version.

    :raises SchemaVersionError: when the store is newer than this code.
    """
    with database.beside_writers() as connection:
        if connection is not None and (facts := _stored(connection)) and facts.schema_version <= SCHEMA_VERSION:
            build_beside_writers(connection, VIEWS)
    with database.setting_up() as connection:
        facts = _stored(connection)
        if facts is None or facts.schema_version < SCHEMA_VERSION:
            if facts is not None:
                shut_writers_out(connection)
            _migrate(connection)
            _write_facts(connection, facts)
    with database.beside_writers() as connection:
        if connection is not None:  # their columns are new, and writers need not wait for them
            build_beside_writers(connection, (*FAMILIES, *FOLLOWED, *BRANCHES))
    return read_facts(database, description)


def give_new_id(database: Database) -> str:
    """Write a new id for the store, one that says that it was a copy, and return it.

    :raises SettingsError: when this role may not.
    """
    new = f"{COPY}{secrets.token_hex(8)}"
    with database.setting_up() as connection:
        connection.exec_driver_sql(f"UPDATE {META} SET store_id = '{new}'")
    return new


def keep_out_before(database: Database, schema: int) -> None:
    """Keep out code that knows only schemas before this one.

    :raises SettingsError: when this role may not.
    """
    with database.setting_up() as connection:
        raised = f"readable_by = {schema} WHERE readable_by < {schema}"
        connection.exec_driver_sql(f"UPDATE {META} SET {raised}")


def _stored(connection: Connection) -> StoreFacts | None:
    from sqlalchemy import inspect

    if not inspect(connection).has_table(META):
        return None
    row = connection.exec_driver_sql(read.meta()).fetchone()
    return StoreFacts(*row) if row else None


def _write_facts(connection: Connection, facts: StoreFacts | None) -> None:
    if facts is not None:
        readable_by = max(READABLE_BY, facts.readable_by)  # a person may have raised it
        versions = f"schema_version = {SCHEMA_VERSION}, readable_by = {readable_by}"
        connection.exec_driver_sql(f"UPDATE {META} SET {versions}")
        return
    values = f"1, '{secrets.token_hex(8)}', {SCHEMA_VERSION}, {READABLE_BY}, 0"
    connection.exec_driver_sql(
        f"INSERT INTO {META} (one, store_id, schema_version, readable_by, pages) VALUES ({values})"
    )


def _migrate(connection: Connection) -> None:
    from alembic import command  # every task is a new process, and hardly any of them migrates
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
