"""The command that prints policies for AWS IAM."""

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
