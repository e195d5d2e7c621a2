"""The table itself: made, checked, and told apart from one that Data Prepper made."""

from __future__ import annotations

import secrets
from enum import StrEnum
from typing import Any, Final

from boto3.dynamodb.conditions import Attr
from botocore.exceptions import ClientError, WaiterError

from airflow_coordination.stores.calls import Call, StoreFacts, check, no_schema
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.expressions import put
from airflow_coordination.stores.dynamodb.keys import INDEX, STORE_KEY, STORE_SOURCE
from airflow_coordination.stores.dynamodb.options import DynamoDBOptions
from airflow_coordination.stores.dynamodb.requests import Refusal, Table
from airflow_coordination.values.errors import SchemaVersionError
from airflow_coordination.values.input_errors import CoordinationError, SettingsError

SCHEMA_VERSION: Final = 17
"""The schema that this code writes."""
OLDEST_USABLE: Final = 1
"""The oldest schema that this code works with."""
READABLE_BY: Final = 1
"""The oldest code, by its schema version, that may work with a table that older code has made."""
MADE_READABLE_BY: Final = 9
"""The same for a table that this code has made: its index lacks the last operation, which older code needs."""

TABLE_KEYS: Final = {"HASH": it.SOURCE, "RANGE": it.KEY}
INDEX_KEYS: Final = {"HASH": it.COMBINATION, "RANGE": it.STANDING}
_STORE: Final = {it.SOURCE: STORE_SOURCE, it.KEY: STORE_KEY}
_CALL: Final = Call("set up the store")


class Layout(StrEnum):
    """The layout of the index: what it repeats, which decides what a write costs."""

    NATIVE = "native"
    DATA_PREPPER = "data prepper"
    """The whole item, as in the table that Data Prepper makes: every write of an item writes to the index, too."""


def read_facts(table: Table) -> StoreFacts:
    """Read the store's facts: the one read of a process's start, which also brings the service's time.

    :raises SchemaVersionError: when there is no such table, it was never set up, or is of another version.
    """
    facts = _stored(table)
    if facts is None:
        raise no_schema(table.description, "the table was never set up as a store of this package")
    check(facts, table.description, known=SCHEMA_VERSION, oldest=OLDEST_USABLE)
    return facts


def refuse_newer(table: Table) -> None:
    """Refuse to set up what newer code has set up already, before anything is written.

    :raises SchemaVersionError: when this code is too old for it.
    """
    facts = _stored(table)
    if facts is not None:
        check(facts, table.description, known=SCHEMA_VERSION, oldest=0)


def write_facts(table: Table, layout: Layout) -> None:
    """Give the store its id, unless it has one, and this code's schema, unless it has that or a newer one."""
    readable_by = MADE_READABLE_BY if layout is Layout.NATIVE else READABLE_BY
    fresh = {**_STORE, "storeId": secrets.token_hex(8), "schema": SCHEMA_VERSION, "readableBy": readable_by}
    answer = table.attempt(_CALL, "put_item", **put(fresh, Attr(it.SOURCE).not_exists()))
    known = answer.item if isinstance(answer, Refusal) else None
    if known is not None and known["schema"] < SCHEMA_VERSION:
        migrated = {**known, "schema": SCHEMA_VERSION, "readableBy": max(READABLE_BY, int(known["readableBy"]))}
        table.attempt(_CALL, "put_item", **put(migrated, Attr("schema").eq(known["schema"])))


def keep_out_before(table: Table, schema: int) -> None:
    """Keep out code that knows only schemas before this one; what another process changes meanwhile stays as it is.

    :raises SchemaVersionError: when the table was never set up.
    """
    key = it.typed(_STORE)
    while (item := table.get(Call("read the store's version", writes=False), key)) is not None:
        as_seen = Attr("schema").eq(item["schema"]) & Attr("readableBy").eq(item["readableBy"])
        raised = {**item, "readableBy": max(schema, int(item["readableBy"]))}
        if not isinstance(table.attempt(_CALL, "put_item", **put(raised, as_seen)), Refusal):
            return
    raise no_schema(table.description, "the table was never set up as a store of this package")


def _stored(table: Table) -> StoreFacts | None:
    item = table.get(Call("read the store's version", writes=False), it.typed(_STORE))
    return StoreFacts(item["storeId"], int(item["schema"]), int(item["readableBy"])) if item else None


def make_table(table: Table, options: DynamoDBOptions) -> Layout:
    """Make the table if it is absent and may be made, check it, and enable TTL if it is asked for.

    :raises SettingsError: when it is absent and may not be made, or TTL is asked for and may not be enabled.
    :raises SchemaVersionError: when it has another shape.
    """
    described = describe(table)
    if described is None:
        if options.skip_table_creation:
            problem = "does not exist in this region and account, and skip_table_creation forbids to make it"
            raise SettingsError("table_name", options.table_name, problem, "Check the region, or leave the option out")
        described = _create(table, options)
    layout = check_shape(table, described)
    if options.expiring is not None:
        _enable_ttl(table, options, *options.expiring)
    return layout


def layout_of(table: Table) -> Layout:
    """Return how an existing table's index is laid out.

    :raises SchemaVersionError: when there is no such table, or it has another shape.
    """
    described = describe(table)
    if described is None:
        raise no_schema(table.description, "there is no such table in this region and account")
    return check_shape(table, described)


def describe(table: Table) -> dict[str, Any] | None:
    """Return the table's description, ``None`` when there is no such table."""
    try:
        found: dict[str, Any] = table.send(_CALL, "describe_table", TableName=table.name)["Table"]
    except SchemaVersionError:
        return None
    return found


def _create(table: Table, options: DynamoDBOptions) -> dict[str, Any]:
    on_demand = options.billing_mode == "on_demand"
    units = {
        "ReadCapacityUnits": options.provisioned_read_capacity_units,
        "WriteCapacityUnits": options.provisioned_write_capacity_units,
    }
    throughput: dict[str, Any] = {} if on_demand else {"ProvisionedThroughput": units}
    index = {
        "IndexName": INDEX,
        "KeySchema": _schema(INDEX_KEYS),
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(it.PROJECTED)},
        **throughput,
    }
    names = [*TABLE_KEYS.values(), *INDEX_KEYS.values()]
    try:
        table.send(
            _CALL,
            "create_table",
            TableName=table.name,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
            KeySchema=_schema(TABLE_KEYS),
            GlobalSecondaryIndexes=[index],
            BillingMode="PAY_PER_REQUEST" if on_demand else "PROVISIONED",
            **throughput,
        )
    except CoordinationError as error:
        if not _is(error, "ResourceInUseException"):  # another process makes it at this moment
            raise
    return _wait_until_active(table)


def _schema(keys: dict[str, str]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for kind, name in keys.items()]


def _wait_until_active(table: Table) -> dict[str, Any]:
    try:
        table.client.get_waiter("table_exists").wait(TableName=table.name, WaiterConfig={"Delay": 2, "MaxAttempts": 60})
    except WaiterError as error:
        raise _CALL.unavailable(f"{table.description}: the table does not become active: {error}") from error
    return describe(table) or {}


def check_shape(table: Table, described: dict[str, Any]) -> Layout:
    """Return how the table's index is laid out.

    :raises SchemaVersionError: naming the key or index that is not as it must be.
    """
    found = _keys(described)
    if found != TABLE_KEYS:
        raise _other_shape(table, f"its key is {_shown(found)}, not {_shown(TABLE_KEYS)}")
    index = next((i for i in described.get("GlobalSecondaryIndexes", ()) if i["IndexName"] == INDEX), None)
    if index is None:
        raise _other_shape(table, f"it has no index {INDEX}")
    if _keys(index) != INDEX_KEYS:
        raise _other_shape(table, f"the key of its index {INDEX} is {_shown(_keys(index))}, not {_shown(INDEX_KEYS)}")
    types = {found["AttributeName"]: found["AttributeType"] for found in described["AttributeDefinitions"]}
    wrong = [name for name in (*TABLE_KEYS.values(), *INDEX_KEYS.values()) if types.get(name) != "S"]
    if wrong:
        raise _other_shape(table, f"{' and '.join(wrong)} is not of type S")
    projection = index["Projection"]
    if projection["ProjectionType"] == "ALL":
        return Layout.DATA_PREPPER
    missing = set(it.PROJECTED) - set(projection.get("NonKeyAttributes", ()))
    if missing:
        raise _other_shape(table, f"its index {INDEX} lacks {', '.join(sorted(missing))}")
    return Layout.NATIVE


def _keys(described: dict[str, Any]) -> dict[str, str]:
    return {key["KeyType"]: key["AttributeName"] for key in described.get("KeySchema", ())}


def _shown(keys: dict[str, str]) -> str:
    return " and ".join(keys[kind] for kind in ("HASH", "RANGE") if kind in keys)


def _other_shape(table: Table, problem: str) -> SchemaVersionError:
    remedy = "Use another table_name; the table that Data Prepper or this package makes by itself fits"
    return SchemaVersionError(table.description, f"the table has another shape: {problem}", remedy)


def _enable_ttl(table: Table, options: DynamoDBOptions, option: str, asked: object) -> None:
    """Enable TTL unless it is: enabling it twice is an error for the service (Data Prepper's second start fails so)."""
    found = table.send(_CALL, "describe_time_to_live", TableName=table.name)["TimeToLiveDescription"]
    attribute, status = found.get("AttributeName"), found["TimeToLiveStatus"]
    if status in ("ENABLED", "ENABLING") and attribute == it.EXPIRATION:
        return
    if status in ("ENABLED", "ENABLING"):
        problem = f"is asked for, and the table's TTL is on the attribute {attribute}"
        raise SettingsError(option, str(asked), problem, f"Disable it there; it must be on {it.EXPIRATION}")
    if options.skip_table_creation:
        problem = "is asked for, and the table's TTL is not enabled, which skip_table_creation forbids to change"
        raise SettingsError(option, str(asked), problem, f"Enable it on the attribute {it.EXPIRATION}")
    specification = {"Enabled": True, "AttributeName": it.EXPIRATION}
    try:
        table.send(_CALL, "update_time_to_live", TableName=table.name, TimeToLiveSpecification=specification)
    except CoordinationError as error:
        if "already" not in str(error.__cause__):  # another process was faster
            raise


def _is(error: CoordinationError, code: str) -> bool:
    cause = error.__cause__
    return isinstance(cause, ClientError) and cause.response["Error"]["Code"] == code
