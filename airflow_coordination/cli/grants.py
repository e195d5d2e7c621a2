"""The command that prints what a role in PostgreSQL needs."""

from __future__ import annotations

from argparse import Namespace
from typing import Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.values.input_errors import SettingsError

ROLES: Final = ("owner", "worker", "reader")
_GIVE: Final = "Give it, or a store in PostgreSQL that says it"


def print_grants(context: CommandContext, args: Namespace) -> None:
    """Print a role's rights as SQL for ``psql``; nothing is sent to the server.

    :raises SettingsError: when no database is named, or a name cannot be one in PostgreSQL.
    """
    from airflow_coordination.stores.sql.grants import Names, SqlRole, grants

    database, schema = args.database, args.schema
    if database is None or schema is None:
        said = _said(context, required=database is None)
        database, schema = database or said[0], schema or said[1]
    names = Names(database, schema, args.to or f"coordination_{args.role}")
    for statement in grants(SqlRole(args.role), names):
        print(statement)


def _said(context: CommandContext, *, required: bool) -> tuple[str, str]:
    """Return database and schema as the store's URL says them; PostgreSQL's own schema is ``public``."""
    from airflow_coordination.stores.sql.store import SqlStore

    try:
        store = context.store
    except SettingsError as error:
        if required:
            raise SettingsError(
                "--database", None, "is missing, and there is no store to take it from", _GIVE
            ) from error
        return "", "public"
    if not isinstance(store, SqlStore) or store.database.dialect.name != "postgresql":
        if required:
            raise SettingsError("--database", store.description, "is not in PostgreSQL", _GIVE)
        return "", "public"
    url = store.database.url
    return url.database or "", str(url.query.get("schema", "public"))
