"""A look at the table for ``doctor``: what it is like, and what these credentials may do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError

from airflow_coordination.stores.calls import MIGRATE, Call
from airflow_coordination.stores.diagnostics import Finding, Verdict, finding_of, looked
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.expressions import Expression, put, query
from airflow_coordination.stores.dynamodb.keys import INDEX
from airflow_coordination.stores.dynamodb.queue import Queue
from airflow_coordination.stores.dynamodb.requests import Table
from airflow_coordination.stores.dynamodb.setup.iam import Role, required
from airflow_coordination.stores.dynamodb.setup.table import Layout, check_shape, describe
from airflow_coordination.stores.dynamodb.store import DynamoDBStore
from airflow_coordination.values.errors import StoreUnavailableError
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.program import TYPED

NOWHERE: Final = "airflow_coordination|DOCTOR"
"""No source has this identifier, and nothing is ever written under it."""
OF_DATA_PREPPER: Final = frozenset(
    f"dynamodb:{action}"
    for action in (
        "DescribeTimeToLive",
        "UpdateTimeToLive",
        "DescribeTable",
        "CreateTable",
        "GetItem",
        "PutItem",
        "Query",
    )
)
"""The full set of permissions in Data Prepper's documentation."""

_KEY: Final = {it.SOURCE: NOWHERE, it.KEY: NOWHERE}
_NEVER: Final = Attr(it.SOURCE).exists() & Attr(it.SOURCE).not_exists()

Arguments = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of the table before its permissions are tried.

    :param exists: whether it does; ``None`` when that is not known.
    :param ttl: its TTL's description, ``None`` when that is not known.
    """

    exists: bool | None
    ttl: dict[str, Any] | None


def _update(_: Seen) -> Arguments:
    expression = Expression()
    text = f"REMOVE {expression.name(it.OWNER)}"
    condition = expression.condition(_NEVER)
    return {
        "Key": it.typed(_KEY),
        "UpdateExpression": text,
        "ConditionExpression": condition,
        **expression.arguments(),
    }


def _delete(_: Seen) -> Arguments:
    expression = Expression()
    condition = expression.condition(_NEVER)
    return {"Key": it.typed(_KEY), "ConditionExpression": condition, **expression.arguments()}


def _create(seen: Seen) -> Arguments | None:
    """Return what a table that exists refuses; one that may be absent would be made."""
    if not seen.exists:
        return None
    return {
        "AttributeDefinitions": [{"AttributeName": it.SOURCE, "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": it.SOURCE, "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }


def _same_ttl(seen: Seen) -> Arguments | None:
    """Return the setting that the table has already, which the service refuses."""
    if seen.ttl is None or seen.ttl["TimeToLiveStatus"] not in ("ENABLED", "DISABLED"):
        return None
    enabled = seen.ttl["TimeToLiveStatus"] == "ENABLED"
    specification = {"Enabled": enabled, "AttributeName": seen.ttl.get("AttributeName", it.EXPIRATION)}
    return {"TimeToLiveSpecification": specification}


_TRIES: Final[dict[str, tuple[str, Callable[[Seen], Arguments | None]]]] = {
    "dynamodb:BatchGetItem": ("batch_get_item", lambda _: {}),
    "dynamodb:CreateTable": ("create_table", _create),
    "dynamodb:DeleteItem": ("delete_item", _delete),
    "dynamodb:DescribeTable": ("describe_table", lambda _: {}),
    "dynamodb:DescribeTimeToLive": ("describe_time_to_live", lambda _: {}),
    "dynamodb:GetItem": ("get_item", lambda _: {"Key": it.typed(_KEY)}),
    "dynamodb:PutItem": ("put_item", lambda _: put(_KEY, _NEVER)),
    "dynamodb:Query": ("query", lambda _: query(Key(it.SOURCE).eq(NOWHERE))),
    "dynamodb:Scan": ("scan", lambda _: {"Limit": 1}),
    "dynamodb:UpdateItem": ("update_item", _update),
    "dynamodb:UpdateTimeToLive": ("update_time_to_live", _same_ttl),
}


def examine_permissions(table: Table, role: Role, seen: Seen) -> Iterator[Finding]:
    """Yield a finding for each action that a role needs, and one if they are those that Data Prepper documents."""
    verdicts: dict[str, Verdict] = {}
    for action, index in required(role):
        finding = _tried(table, role, action, index, seen)
        verdicts.setdefault(action, finding.verdict)
        yield finding
    denied = {action for action, verdict in verdicts.items() if verdict is Verdict.WRONG}
    if "dynamodb:UpdateItem" in denied and denied == verdicts.keys() - OF_DATA_PREPPER:
        found = (
            "these are the permissions that Data Prepper documents, which have no UpdateItem: every lease is an update"
        )
        yield Finding("policy", Verdict.WRONG, found, _remedy(role))


def _tried(table: Table, role: Role, action: str, index: str | None, seen: Seen) -> Finding:
    check = f"{action} on index {index}" if index else action
    operation, arguments_for = _TRIES[action]
    arguments = arguments_for(seen)
    if arguments is None:
        return Finding(check, Verdict.UNKNOWN, "not tried: it could change something here")
    try:
        table.send(Call(f"try {action}"), operation, **_addressed(table, operation, index, arguments))
    except CoordinationError as error:
        return _judged(check, role, error)
    return Finding(check, Verdict.OK, "allowed")


def _addressed(table: Table, operation: str, index: str | None, arguments: Arguments) -> Arguments:
    """Return the arguments with the table, or its index, that the action is tried on."""
    if operation == "batch_get_item":
        return {"RequestItems": {table.name: {"Keys": [it.typed(_KEY)]}}}
    if index is None:
        return {"TableName": table.name, **arguments}
    return {"TableName": table.name, "IndexName": INDEX, **query(Key(it.COMBINATION).eq(NOWHERE))}


def _judged(check: str, role: Role, error: CoordinationError) -> Finding:
    """Return what an error says of the permission: all but a denial and no answer say that there is one."""
    if is_denial(error):
        return Finding(check, Verdict.WRONG, "denied", _remedy(role))
    if isinstance(error, StoreUnavailableError) or not isinstance(error.__cause__, ClientError):
        return Finding(check, Verdict.UNKNOWN, str(error))
    return Finding(check, Verdict.OK, "allowed")


def is_denial(error: CoordinationError) -> bool:
    """Return whether the service denied a request for want of a permission."""
    cause = error.__cause__
    return isinstance(cause, ClientError) and "AccessDenied" in cause.response["Error"]["Code"]


def _remedy(role: Role) -> str:
    return f"Allow it: `{TYPED} iam {role}` prints the policy"


_LAYOUTS = {
    Layout.NATIVE: "the index repeats what the queue needs",
    Layout.DATA_PREPPER: "made by Data Prepper: the index repeats whole items, so that every write costs twice",
}
_BY_SETUP_ROLE = "Look again with the credentials of the set-up role"


def examine(store: DynamoDBStore, role: Role) -> Iterator[Finding]:
    """Yield what there is to say of a store's table.

    :param role: whose permissions the credentials should have.
    """
    exists: bool | None
    try:
        described = describe(store.table)
    except CoordinationError as error:
        if not is_denial(error):
            yield finding_of("table", error)
            return
        exists = None
        yield Finding("table", Verdict.UNKNOWN, "this role may not describe it", _BY_SETUP_ROLE)
    else:
        exists = described is not None
        yield from _table(store, described) if described else [_absent()]
    ttl = None
    if exists is not False:
        ttl, finding = _time_to_live(store)
        yield finding
    yield from examine_permissions(store.table, role, Seen(exists, ttl))
    if exists and _is_set_up(store):
        yield from looked("other writers", lambda: _other_writers(store))


def _is_set_up(store: DynamoDBStore) -> bool:
    """Return whether there are sources to look at; if not, the look at the store says why."""
    try:
        return bool(store.store_id)
    except CoordinationError as error:
        return is_denial(error)


def _other_writers(store: DynamoDBStore) -> Iterator[Finding]:
    """Say whether Data Prepper has written a partition of a source of ours: two programs on one table lose work."""
    call = Call("look for other writers", writes=False)
    try:
        sources = store.sources()
        for source, _ in sources:
            Queue(store.table).watch(call, source)
    except CoordinationError as error:
        if not is_denial(error):
            raise
        yield Finding("other writers", Verdict.UNKNOWN, "this role may not read the table", _BY_SETUP_ROLE)
        return
    yield Finding("other writers", Verdict.OK, f"none seen in {len(sources)} source(s)")


def _absent() -> Finding:
    return Finding("table", Verdict.WRONG, "there is no such table in this region and account", MIGRATE)


def _table(store: DynamoDBStore, described: dict[str, Any]) -> Iterator[Finding]:
    yield _active("table", described["TableStatus"])
    yield from (_active("index", index["IndexStatus"]) for index in described.get("GlobalSecondaryIndexes", ()))
    yield from looked("layout", lambda: [_layout(store, described)])
    yield Finding("billing", Verdict.OK, _billing(described))


def _active(check: str, status: str) -> Finding:
    if status == "ACTIVE":
        return Finding(check, Verdict.OK, status)
    return Finding(check, Verdict.WRONG, status, "Wait until it is ACTIVE")


def _layout(store: DynamoDBStore, described: dict[str, Any]) -> Finding:
    layout = check_shape(store.table, described)
    return Finding("layout", Verdict.OK, f"{layout}: {_LAYOUTS[layout]}")


def _billing(described: dict[str, Any]) -> str:
    if described.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST":
        return "on_demand"
    units = described["ProvisionedThroughput"]
    return f"provisioned: {units['ReadCapacityUnits']} read and {units['WriteCapacityUnits']} write units"


def _time_to_live(store: DynamoDBStore) -> tuple[dict[str, Any] | None, Finding]:
    """Return the TTL's description, and what it means for this store's options."""
    try:
        answer = store.table.send(
            Call("look at TTL", writes=False), "describe_time_to_live", TableName=store.table.name
        )
    except CoordinationError as error:
        found = "this role may not describe it" if is_denial(error) else str(error)
        return None, Finding("ttl", Verdict.UNKNOWN, found, _BY_SETUP_ROLE)
    ttl: dict[str, Any] = answer["TimeToLiveDescription"]
    enabled = ttl["TimeToLiveStatus"] in ("ENABLED", "ENABLING")
    found = f"{ttl['TimeToLiveStatus']} on {ttl['AttributeName']}" if enabled else ttl["TimeToLiveStatus"]
    asking = store.options.expiring
    if asking is None or (enabled and ttl["AttributeName"] == it.EXPIRATION):
        return ttl, Finding("ttl", Verdict.OK, found)
    wrong = f"{found}, and the option {asking[0]} asks for it on {it.EXPIRATION}"
    return ttl, Finding("ttl", Verdict.WRONG, wrong, MIGRATE)
