"""The commands that print what a role needs: a policy for AWS IAM, SQL for PostgreSQL."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import TYPE_CHECKING, Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.values.input_errors import SettingsError

if TYPE_CHECKING:
    from airflow_coordination.stores.dynamodb.options import DynamoDBOptions


ROLES: Final = ("setup", "worker", "reader")
_GIVE: Final = "Give it, or a store that says it; an account also by --ask-account"


def print_policy(context: CommandContext, args: Namespace) -> None:
    """Print a role's policy for one table as JSON; what is not named comes from the store.

    :raises SettingsError: when the table, its region or its account is not known, or the output root is not on S3.
    """
    from airflow_coordination.stores.dynamodb.setup.iam import Role, TableAddress, policy

    region = args.region or _known("--region", _options(context, "--region").region)
    address = TableAddress(
        table=args.table or _options(context, "--table").table_name,
        region=region,
        account=args.account or _account(context, region, ask=args.ask_account),
    )
    print(json.dumps(policy(Role(args.role), address, args.output_root, args.source, args.partition_prefix), indent=2))


def _options(context: CommandContext, wanted: str) -> DynamoDBOptions:
    from airflow_coordination.stores.dynamodb.store import DynamoDBStore

    try:
        store = context.store
    except SettingsError as error:
        raise SettingsError(wanted, None, "is missing, and there is no store to take it from", _GIVE) from error
    if isinstance(store, DynamoDBStore):
        return store.options
    raise SettingsError(wanted, None, f"is missing, and {store.description} is no table of DynamoDB", _GIVE)


def _account(context: CommandContext, region: str, *, ask: bool) -> str:
    """Return the account of the store's role; ask AWS only where that is wanted."""
    if ask:
        from airflow_coordination.stores.dynamodb.setup.iam import account_of_credentials

        return account_of_credentials(region)
    role = _options(context, "--account").sts_role_arn
    return _known("--account", role and role.split(":")[4])


def _known(option: str, value: str | None) -> str:
    if value:
        return value
    raise SettingsError(option, value, "is missing, and the store does not say it", _GIVE)


ROLES_IN_POSTGRESQL: Final = ("owner", "worker", "reader")
_GIVE_POSTGRESQL: Final = "Give it, or a store in PostgreSQL that says it"


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
                "--database", None, "is missing, and there is no store to take it from", _GIVE_POSTGRESQL
            ) from error
        return "", "public"
    if not isinstance(store, SqlStore) or store.database.dialect.name != "postgresql":
        if required:
            raise SettingsError("--database", store.description, "is not in PostgreSQL", _GIVE_POSTGRESQL)
        return "", "public"
    url = store.database.url
    return url.database or "", str(url.query.get("schema", "public"))
