"""What is wrong with a table, a role or an item, and what it says; on both engines where they differ."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from airflow_coordination.leases import (
    CoordinationError,
    InvalidInputError,
    Metric,
    PartitionNotFoundError,
    ProgressStateError,
    SchemaVersionError,
    SettingsError,
    SourceCoordinator,
    StoreThrottledError,
    StoreUnavailableError,
)
from airflow_coordination.protocol.metrics import full_name
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.stores.dynamodb.client import make_client
from airflow_coordination.stores.dynamodb.setup.table import Layout, write_facts
from airflow_coordination.testing.clock import FakeClock
from tests.faults.dynamodb_client import Fault, FaultyClient, by_chance, no_faults
from tests.integration.dynamodb.engine import Engine
from tests.integration.dynamodb.table import SOURCE, SharedTable, acquired, found

TIMEOUT = timedelta(minutes=10)
WEEK = timedelta(days=7)


def make(engine: Engine, table: str, *keys: str, index: dict[str, str] | None = None) -> None:
    """Make a table by hand: with these keys, and an index ``source-status`` with those."""
    indexes = {}
    if index:
        schema = [{"AttributeName": name, "KeyType": kind} for kind, name in index.items()]
        everything = {"ProjectionType": "ALL"}
        indexes = {
            "GlobalSecondaryIndexes": [{"IndexName": "source-status", "KeySchema": schema, "Projection": everything}]
        }
    names = sorted({*keys, *(index or {}).values()})
    engine.client.create_table(
        TableName=table,
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        KeySchema=[
            {"AttributeName": name, "KeyType": kind} for name, kind in zip(keys, ("HASH", "RANGE"), strict=False)
        ],
        BillingMode="PAY_PER_REQUEST",
        **indexes,
    )


def test_no_table_and_none_may_be_made(engine: Engine, table: str) -> None:
    with pytest.raises(SettingsError) as raised:
        engine.store(table, skip_table_creation=True).setup()
    problem = "does not exist in this region and account, and skip_table_creation forbids to make it"
    assert str(raised.value) == f"table_name='{table}': {problem}. Check the region, or leave the option out"


def test_no_table_at_work(engine: Engine, table: str) -> None:
    with pytest.raises(SchemaVersionError, match=r"there is no such table in this region and account\. Run `airflow"):
        assert engine.store(table).store_id


def test_a_table_that_was_never_set_up(engine: Engine, table: str) -> None:
    make(engine, table, "sourceIdentifier", "sourcePartitionKey")
    with pytest.raises(SchemaVersionError, match=r"the table was never set up as a store of this package\. Run `airfl"):
        assert engine.store(table).store_id


def test_the_table_is_in_another_region(moto: Engine, table: str) -> None:
    moto.store(table).setup()
    elsewhere = moto.options(table, region="eu-central-1")
    with pytest.raises(SchemaVersionError, match=r"region=eu-central-1.*: there is no such table in this region"):
        assert DynamoDBStore(elsewhere, client=make_client).store_id


@pytest.mark.parametrize("keys", [["id"], ["sourceIdentifier"], ["sourceIdentifier", "at"]], ids="-".join)
def test_a_table_of_other_keys(engine: Engine, table: str, keys: list[str]) -> None:
    make(engine, table, *keys)
    with pytest.raises(SchemaVersionError) as raised:
        engine.store(table).setup()
    problem = f"its key is {' and '.join(keys)}, not sourceIdentifier and sourcePartitionKey"
    assert f"the table has another shape: {problem}. Use another table_name; the table that" in str(raised.value)
    with pytest.raises(SchemaVersionError, match=r"the table has another shape: .*\. Use another table_name"):
        assert engine.store(table).store_id


def test_a_table_without_its_index(engine: Engine, table: str) -> None:
    make(engine, table, "sourceIdentifier", "sourcePartitionKey")
    with pytest.raises(SchemaVersionError, match=r"the table has another shape: it has no index source-status\. Use"):
        engine.store(table).setup()


def test_an_index_that_is_gone_at_work(local: Engine, table: str) -> None:
    make(local, table, "sourceIdentifier", "sourcePartitionKey")
    store = local.store(table)
    write_facts(store.table, Layout.NATIVE)
    one = SourceCoordinator(store, SOURCE, "one")
    for work in (lambda: one.create_partitions(["k"]), one.get_next_partition):
        with pytest.raises(
            SchemaVersionError, match=r"the table has another shape: .*index.*\. Use another table_name"
        ):
            work()


def test_an_index_of_other_keys(engine: Engine, table: str) -> None:
    index = {"HASH": "sourceStatusCombinationKey", "RANGE": "reOpenAt"}
    make(engine, table, "sourceIdentifier", "sourcePartitionKey", index=index)
    with pytest.raises(SchemaVersionError) as raised:
        engine.store(table).setup()
    assert "the key of its index source-status is sourceStatusCombinationKey and reOpenAt, not" in str(raised.value)


def test_ttl_is_enabled_once_and_starting_again_works(engine: Engine, table: str) -> None:
    for _ in range(3):
        engine.store(table, ttl=WEEK).setup()
    engine.store(table, ttl=WEEK, skip_table_creation=True).setup()
    told = engine.client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    assert told == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expirationTime"}


def test_ttl_is_asked_for_and_may_not_be_enabled(engine: Engine, table: str) -> None:
    engine.store(table).setup()
    with pytest.raises(SettingsError) as raised:
        engine.store(table, ttl=WEEK, skip_table_creation=True).setup()
    assert str(raised.value) == (
        "ttl='7 days, 0:00:00': is asked for, and the table's TTL is not enabled, which skip_table_creation forbids to "
        "change. Enable it on the attribute expirationTime"
    )


def test_ttl_is_on_another_attribute(engine: Engine, table: str) -> None:
    engine.store(table).setup()
    other = {"Enabled": True, "AttributeName": "expiresAt"}
    engine.client.update_time_to_live(TableName=table, TimeToLiveSpecification=other)
    with pytest.raises(SettingsError, match=r"the table's TTL is on the attribute expiresAt\. Disable it there; it m"):
        engine.store(table, ttl=WEEK).setup()


DENIED = """<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
<Code>AccessDenied</Code><Message>User: arn:aws:iam::1:user/ana is not authorized to perform: sts:AssumeRole</Message>
</Error><RequestId>1</RequestId></ErrorResponse>"""


@pytest.fixture
def denying_sts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A token service that lets nobody assume anything; gives what it was asked."""
    asked: list[str] = []

    class Denying(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(403)
            self.end_headers()
            self.wfile.write(DENIED.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Denying) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{server.server_port}")
        yield asked
        server.shutdown()


ROLE = "arn:aws:iam::123456789012:role/SourceCoordinationTableRole"


def test_a_role_that_cannot_be_assumed(moto: Engine, table: str, denying_sts: list[str]) -> None:
    options = moto.options(table, sts_role_arn=ROLE, sts_external_id="my-external-id")
    with pytest.raises(SettingsError) as raised:
        assert DynamoDBStore(options).store_id
    text = str(raised.value)
    assert "cannot be assumed: User: arn:aws:iam::1:user/ana is not authorized to perform: sts:AssumeRole." in text
    assert text.endswith("Check the role's trust policy and sts_external_id")
    assert raised.value.field == "sts_role_arn"
    [question] = denying_sts
    assert "ExternalId=my-external-id" in question


def test_a_role_and_no_credentials_to_assume_it_with(moto: Engine, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(SettingsError, match=r"Unable to locate credentials\. Give credentials and a region"):
        assert DynamoDBStore(moto.options(table, sts_role_arn=ROLE)).store_id


def test_a_token_service_that_nobody_answers_for(moto: Engine, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9")
    with pytest.raises(StoreUnavailableError, match=r"Could not connect to the endpoint URL: .*127\.0\.0\.1:9"):
        assert DynamoDBStore(moto.options(table, sts_role_arn=ROLE)).store_id


def counted(one: SourceCoordinator, metric: Metric) -> int:
    return one.metrics.counts.get(full_name(SOURCE, metric), 0)


def test_l6_throttling_is_an_error_and_a_metric_and_never_no_work(shared: SharedTable, clock: FakeClock) -> None:
    faulty = FaultyClient(shared.engine.client)
    one = shared.coordinator(client=faulty)
    one.create_partitions(["k"])
    faulty.plan = lambda operation: Fault.THROTTLED
    began, sent = clock.now(), len(faulty.requests)
    with pytest.raises(StoreThrottledError, match="The store has no capacity left to acquire a partition: dynamodb:"):
        one.get_next_partition()
    assert timedelta(seconds=25) < clock.now() - began <= timedelta(seconds=30)
    attempts = len(faulty.requests) - sent
    assert 10 < attempts < 40
    assert counted(one, Metric.THROTTLED) == attempts
    assert counted(one, Metric.NONE_ACQUIRED) == 0
    assert one.store.table.requests["throttled"] == attempts
    faulty.plan = no_faults
    assert acquired(one.get_next_partition()).key == "k"


def test_l6_renewals_outlast_acquisitions(shared: SharedTable, clock: FakeClock) -> None:
    """An acquisition gives up after half a minute; a renewal goes on for as long as there is a lease to keep."""
    faulty = FaultyClient(shared.engine.client)
    one = shared.coordinator(client=faulty)
    one.create_partitions(["held", "k"])
    held = acquired(one.acquire_partition("held"))
    ends = clock.now() + timedelta(minutes=5)
    faulty.plan = lambda operation: Fault.THROTTLED if clock.now() < ends else None
    with pytest.raises(StoreThrottledError):
        one.get_next_partition()
    held = one.renew(held)
    assert clock.now() >= ends
    assert held.expires_at == clock.now() + TIMEOUT
    one.complete(held)


def test_l6_throttling_now_and_then_is_only_slow(shared: SharedTable) -> None:
    faulty = FaultyClient(shared.engine.client)
    one = shared.coordinator(client=faulty, seed=1)
    keys = [f"{number:02}" for number in range(20)]
    one.create_partitions(keys)
    faulty.plan = by_chance({Fault.THROTTLED: 0.25}, random.Random(1))
    done = []
    while (lease := one.get_next_partition()) is not None:
        one.complete(lease)
        done.append(lease.key)
    assert sorted(done) == keys


def test_an_item_that_is_deleted_under_its_owner(shared: SharedTable) -> None:
    one = shared.coordinator()
    one.create_partitions(["k"])
    held = one.save_progress_state(acquired(one.get_next_partition()), "x" * 1000)
    key = {name: shared.item("k")[name] for name in ("sourceIdentifier", "sourcePartitionKey")}
    shared.engine.client.delete_item(TableName=shared.table, Key=key)
    for call in (one.renew, one.complete, lambda lease: one.save_progress_state(lease, 1)):
        with pytest.raises(PartitionNotFoundError) as raised:
            call(held)
    assert str(raised.value) == (
        "Partition 'k' does not exist in source 'flights|PARTITION'. "
        "If it was deleted by hand, run the supplier again to create it anew."
    )
    assert [item for item in shared.items() if item["sourceIdentifier"]["S"] == "flights|PARTITION"] == []
    assert counted(one, Metric.NOT_FOUND) == 3


def test_large_progress_that_is_gone_is_never_taken_for_none(shared: SharedTable) -> None:
    one = shared.coordinator()
    one.create_partitions(["k"])
    one.give_up(one.save_progress_state(acquired(one.get_next_partition()), "x" * 1000))
    [large] = [item for item in shared.items() if item["sourceIdentifier"]["S"] == "flights|PARTITION|LARGE"]
    key = {name: large[name] for name in ("sourceIdentifier", "sourcePartitionKey")}
    shared.engine.client.delete_item(TableName=shared.table, Key=key)
    with pytest.raises(ProgressStateError) as raised:
        one.partition("k")
    assert "is gone from the store. Restore it, or remove progressOp and stagedOp from its item by hand" in str(
        raised.value
    )
    shared.set("k", progressOp={})
    assert found(one.partition("k")).progress_state is None


CORRUPT: list[tuple[str, dict[str, Any], str]] = [
    ("sourcePartitionStatus", {"S": "DONE"}, "'DONE': is none of UNASSIGNED, ASSIGNED, CLOSED, COMPLETED"),
    ("closedCount", {"S": "1"}, "'1': is no whole number"),
    ("closedCount", {"N": "1.5"}, "Decimal('1.5'): is no whole number"),
    ("closedCount", {}, "None: is no whole number"),
    ("failures", {}, "None: is no whole number"),
    ("lostLeases", {"BOOL": True}, "True: is no whole number"),
    ("fenceToken", {"S": "x"}, "'x': is no whole number"),
    ("waitRank", {"N": "9"}, "Decimal('9'): is none of 0, 1, 2"),
    ("place", {}, "None: is no text"),
    ("place", {"S": "first"}, "'first': is no place in the order"),
    ("availableAt", {"S": "soon"}, "'soon': is no whole number"),
    ("createdAt", {"S": "x"}, "'x': is no whole number"),
    ("reOpenAt", {"S": "tomorrow"}, "'tomorrow': is no instant such as 2026-01-31T08:00:00Z"),
    ("reOpenAt", {"N": "1"}, "Decimal('1'): is no text"),
    ("generation", {"N": "1"}, "Decimal('1'): is no text"),
    ("staged", {"S": "[1]"}, "'[1]': is corrupt in the store"),
]


@pytest.mark.parametrize(
    ("name", "value", "problem"), CORRUPT, ids=[f"{name} {list(value.values())}" for name, value, _ in CORRUPT]
)
def test_a_corrupt_attribute_is_named(shared: SharedTable, name: str, value: dict[str, Any], problem: str) -> None:
    one = shared.coordinator()
    one.create_partitions(["k"])
    shared.set("k", **{name: value})
    shown = "blocks" if name == "staged" else name
    for call in (lambda: one.partition("k"), one.partitions, lambda: one.people.reset("k", by="ana", why="corrupt")):
        with pytest.raises(InvalidInputError) as raised:
            call()
        assert str(raised.value).startswith(f"{shown}={problem}")
        assert "in the item of partition 'k'. " in str(raised.value)


@pytest.mark.parametrize(("name", "value", "problem"), CORRUPT, ids=range(len(CORRUPT)))
def test_no_corrupt_attribute_leaks_an_error_of_python(
    shared: SharedTable, clock: FakeClock, name: str, value: dict[str, Any], problem: str
) -> None:
    one = shared.coordinator()
    one.create_partitions(["k"])
    hint = one.claimable()[0]
    shared.set("k", **{name: value})
    calls = [
        one.get_next_partition,
        lambda: one.get_next_partition(hint=hint),
        lambda: one.acquire_partition("k"),
        one.sweep,
        one.claimable,
        one.counts,
        one.looking.outlook,
        lambda: one.create_partitions(["k"]),
    ]
    for call in calls:
        try:
            call()
        except CoordinationError:
            continue
        clock.advance(TIMEOUT)
