"""A look at the table for ``airflow coordination doctor``: what it is like, and what these credentials may do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airflow_coordination.stores.calls import MIGRATE, Call
from airflow_coordination.stores.diagnostics import Finding, Verdict, finding_of, looked
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb import permissions
from airflow_coordination.stores.dynamodb.iam import Role
from airflow_coordination.stores.dynamodb.permissions import Seen, is_denial
from airflow_coordination.stores.dynamodb.queue import Queue
from airflow_coordination.stores.dynamodb.store import DynamoDBStore
from airflow_coordination.stores.dynamodb.table import Layout, check_shape, describe
from airflow_coordination.values.input_errors import CoordinationError

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
    yield from permissions.examine(store.table, role, Seen(exists, ttl))
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
