"""The history on DynamoDB: a row for each tenure, where it is asked for, best effort (decision 46)."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases import Block, SettingsError, SourceCoordinator
from airflow_coordination.outputs import published_accounting
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.stores.dynamodb import DynamoDBStore, items, keys
from airflow_coordination.stores.dynamodb.setup.examination import examine
from airflow_coordination.stores.dynamodb.setup.iam import Role
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.history.past_tenures import unremembered
from airflow_coordination.values.accounting import Accounting, SinkCounts
from airflow_coordination.values.errors import OutcomeUnknownError, StoreUnavailableError
from airflow_coordination.values.status import Outcome, PartitionStatus
from benchmarks.dynamodb.data_prepper import make_table
from benchmarks.dynamodb.requests import Requests
from tests.integration.dynamodb.engine import Engine, patient_client

KEPT = timedelta(days=36_500)
"""The tests' clock is behind, and DynamoDB Local deletes what has expired."""
OWNER = "worker-7/flights/run/drain/12/1"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["native", "data_prepper"])
def started(request: pytest.FixtureRequest, engine: Engine, table: str, clock: FakeClock) -> Iterator[Any]:
    """Start a process on a new table of each layout, which keeps a history unless it is told otherwise."""
    if request.param == "data_prepper":
        make_table(engine.client, table)

    def started(retention: timedelta | None = KEPT, client: Any = None) -> SourceCoordinator:
        here = Engine(engine.endpoint, client or engine.client)
        store = here.store(table, clock, history_retention=retention)
        return SourceCoordinator(store, "flights", OWNER, clock=clock)

    started().store.setup()
    yield started
    engine.delete(table)


def test_who_held_it_since_when_and_why_it_failed_is_known(started: Any, clock: FakeClock) -> None:
    flights = started()
    assert parts_of(flights.store).history is not None
    flights.create_partitions(["a", "b"])
    since = clock.now()
    flights.fail(flights.acquire_partition("a"), "no such file", retry_after=timedelta(0))
    clock.advance(60)
    lease = flights.acquire_partition("a")
    clock.advance(5)
    flights.complete(lease)
    failed, completed = started().history("a")  # another process reads
    assert (failed.outcome, failed.error, failed.acquired_at) == (Outcome.FAILED, "no such file", since)
    assert (completed.outcome, completed.lasted) == (Outcome.COMPLETED, timedelta(seconds=5))
    assert {failed.owner, completed.owner} == {OWNER}
    assert not list(unremembered(flights.store, "flights|PARTITION"))


def test_a_driver_that_was_given_its_lease_knows_the_owner_and_says_who_it_is(started: Any) -> None:
    task, driver = started(), started()
    task.create_partitions(["a"])
    given = task.acquire_partition("a")
    driver.describe_owner(application="app-1")
    lease = driver.begin("a", given.fence)
    driver.complete(lease)
    [past] = task.history("a")
    assert (past.owner, past.owner_facts["application"]) == (OWNER, "app-1")
    assert past.acquired_at is None, "no item says it"


@pytest.mark.parametrize("how", ["sweep", "acquisition"])
def test_a_lost_lease_has_its_row(started: Any, clock: FakeClock, how: str) -> None:
    dead, alive = started(), started()
    dead.create_partitions(["a"])
    dead.acquire_partition("a")
    clock.advance(700)
    if how == "sweep":
        assert alive.sweep().reclaimed == 1
    else:
        assert alive.acquire_partition("a") is not None
    [past] = alive.history("a")
    assert (past.outcome, past.owner) == (Outcome.LOST, OWNER)


def test_a_person_s_release_has_its_row_and_its_audit(started: Any) -> None:
    flights = started()
    flights.create_partitions(["a"])
    flights.acquire_partition("a")
    flights.people.release("a", by="ana", why="its machine is gone")
    [past] = flights.history("a")
    assert past.owner == OWNER
    assert [each["by"] for each in flights.looking.actions("a")] == ["ana"]


def test_more_than_eight_are_remembered_and_those_of_a_source_the_newest_first(started: Any, clock: FakeClock) -> None:
    flights = started()
    flights.create_partitions(["a", "b"])
    for key in "ab" * 10:
        flights.give_up(flights.acquire_partition(key))
        clock.advance(1)
    assert [past.token for past in flights.history("a")] == list(range(1, 11))
    found = flights.looking.past_tenures(5)
    newest = sorted(found, key=lambda past: past.ended_at, reverse=True)
    assert [(past.key, past.token) for past in newest] == [("b", 10), ("a", 10), ("b", 9), ("a", 9), ("b", 8)]


def test_what_ended_is_counted_by_five_minutes_and_old_sums_go(started: Any, clock: FakeClock) -> None:
    """From the index, backwards, in portions that a moment is never cut by; the sums lie beside the history's rows."""
    flights, begin = started(), clock.now()
    for number in range(6):
        flights.create_partitions([f"k{number}"])
        clock.advance(60 * (number % 2))
        flights.complete(flights.acquire_partition(f"k{number}"))
    clock.advance(300)
    while (done := started().looking.ended.count_on(begin, limit=2)).goes_on:
        assert done.rows
    assert [row.completed for row in flights.looking.ended.newest(9) if row.completed] == [6]
    assert started().looking.ended.count_on(begin).rows == 0
    assert len(flights.looking.past_tenures()) == 6
    assert len(flights.history("k1")) == 1
    clock.advance(3 * 86_400)
    flights.looking.ended.forget_old(clock.now())
    assert flights.looking.ended.newest(9) == []


def test_keys_that_begin_alike_have_a_history_each(started: Any) -> None:
    flights, names = started(), ["a", "a\x01", "a|b", "ab", "k" * 1500, "k" * 1499]
    flights.create_partitions(names)
    for name in names:
        flights.complete(flights.acquire_partition(name))
    assert [[past.key for past in flights.history(name)] for name in names] == [[name] for name in names]


def test_a_row_goes_by_the_table_s_time_to_live(started: Any, engine: Engine, table: str, clock: FakeClock) -> None:
    flights = started()
    flights.create_partitions(["a"])
    flights.complete(flights.acquire_partition("a"))
    described = engine.client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    assert (described["TimeToLiveStatus"], described["AttributeName"]) == ("ENABLED", items.EXPIRATION)
    place = {":s": {"S": keys.belonging("flights|PARTITION", keys.HISTORY)}}
    [row] = engine.client.query(
        TableName=table, KeyConditionExpression=f"{items.SOURCE} = :s", ExpressionAttributeValues=place
    )["Items"]
    assert int(row[items.EXPIRATION]["N"]) == int((clock.now() + KEPT).timestamp())


def test_rows_are_no_partitions_and_no_other_writer_s(started: Any) -> None:
    flights = started()
    flights.create_partitions(["a"])
    flights.complete(flights.acquire_partition("a"))
    again = started()
    again.store.setup()  # looks through the whole table for what is not ours
    assert again.counts()[PartitionStatus.COMPLETED] == sum(again.counts().values()) == 1
    assert [each.key for each in again.partitions()] == ["a"]
    assert [source for source, _ in again.store.sources()] in ([], ["flights|PARTITION"])
    assert again.get_next_partition() is None
    assert again.looking.outlook().completed == 1


def test_what_is_not_asked_for_costs_nothing(started: Any, engine: Engine) -> None:
    flights = started(None)
    assert parts_of(flights.store).history is None
    flights.create_partitions(["a"])
    with Requests(engine.client).counted() as tally:
        flights.complete(flights.acquire_partition("a"))
    assert tally.sent["PutItem"] == 0
    assert not flights.looking.past_tenures()
    [past] = flights.history("a")
    assert (past.outcome, past.owner) == (Outcome.COMPLETED, None), "as the ring says"


@pytest.mark.dynamodb
def test_a_row_is_one_request_and_two_units(local: Engine, local_table: str, clock: FakeClock) -> None:
    store = local.store(local_table, clock, history_retention=KEPT)
    store.setup()
    with closing(patient_client(local.endpoint)) as client:
        mine = Engine(local.endpoint, client).store(local_table, clock, history_retention=KEPT)
        flights = SourceCoordinator(mine, "flights", OWNER)
        flights.create_partitions(["a"])
        lease = flights.acquire_partition("a")
        with Requests(client, capacity=True).counted() as tally:
            flights.complete(lease)
    assert tally.sent == Counter(UpdateItem=1, PutItem=1)
    assert tally.written == Counter({"table": 2.0, "source-status": 2.0})  # with the partition's own: one and one


@pytest.mark.dynamodb
def test_counting_what_ended_reads_a_row_and_the_index_and_writes_a_row(
    local: Engine, local_table: str, clock: FakeClock
) -> None:
    store, begin = local.store(local_table, clock, history_retention=KEPT), clock.now()
    store.setup()
    with closing(patient_client(local.endpoint)) as client:
        mine = Engine(local.endpoint, client).store(local_table, clock, history_retention=KEPT)
        flights = SourceCoordinator(mine, "flights", OWNER)
        flights.create_partitions(["a"])
        flights.complete(flights.acquire_partition("a"))
        clock.advance(90)
        with Requests(client, capacity=True).counted() as tally:
            flights.looking.ended.count_on(begin)
        assert tally.sent == Counter(Query=2, PutItem=1)
        assert tally.written == Counter({"table": 1.0})
        with Requests(client, capacity=True).counted() as tally:
            assert [row.completed for row in flights.looking.ended.newest(288)] == [1]
        assert tally.sent == Counter(Query=1)


@pytest.mark.parametrize("error", [StoreUnavailableError, OutcomeUnknownError])
def test_a_row_that_cannot_be_written_changes_no_answer(
    started: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: type[Exception]
) -> None:
    flights = started()
    flights.create_partitions(["a"])
    lease = flights.acquire_partition("a")
    assert isinstance(flights.store, DynamoDBStore)
    attempt = flights.store.table.attempt

    def cut(call: Any, operation: str, **arguments: Any) -> Any:
        if operation == "put_item":
            raise error("remember a tenure", "the connection was cut")
        return attempt(call, operation, **arguments)

    monkeypatch.setattr(flights.store.table, "attempt", cut)
    with caplog.at_level(logging.WARNING):
        flights.complete(lease)
    assert flights.partition("a").status is PartitionStatus.COMPLETED
    [past] = flights.history("a")
    assert (past.outcome, past.owner) == (Outcome.COMPLETED, None), "as the ring says"
    assert "of partition 'a' has no row in the history: " in caplog.text


def test_a_table_whose_time_to_live_is_elsewhere_is_refused(engine: Engine, table: str) -> None:
    engine.store(table).setup()
    specification = {"Enabled": True, "AttributeName": "mine"}
    engine.client.update_time_to_live(TableName=table, TimeToLiveSpecification=specification)
    asking = engine.store(table, history_retention=KEPT)
    with pytest.raises(SettingsError, match=r"history_retention=.*the table's TTL is on the attribute mine"):
        asking.setup()
    found = {each.check: each for each in examine(engine.store(table, history_retention=KEPT), Role.SETUP)}
    assert "the option history_retention asks for it on expirationTime" in found["ttl"].found
    engine.delete(table)


COUNTED = Accounting(read=3, delivered_everywhere=1, dropped={"cancelled": 2})
MANY = Accounting(
    read=10**12, delivered_everywhere=10**12, sinks={f"sink {n}": SinkCounts(10**12, 10**12) for n in range(8)}
)


@pytest.mark.parametrize("counted", [COUNTED, MANY], ids=["small", "large"])
def test_a_row_has_the_accounting_that_its_owner_has_left(started: Any, counted: Accounting) -> None:
    task = started()
    task.create_partitions(["a"])
    task.save_progress_state(lease := task.acquire_partition("a"), 1, counted=counted)
    task.fail(lease, "boom", retry_after=timedelta(0))
    driver = started()  # another process, which has seen none of it
    driver.give_up(driver.acquire_partition("a"))
    last = started()
    last.complete(last.acquire_partition("a"), [Block("clean", "/out/b1", "b1", 1, 10)], counted=COUNTED)
    expected = [counted, counted, counted + COUNTED]
    assert [past.accounting for past in started().history("a")] == expected
    assert sorted(past.token for past in task.looking.past_tenures() if past.accounting in expected) == [1, 2, 3]
    assert published_accounting(task.store, "flights", "clean").read == counted.read + 3


def test_a_copy_costs_no_request_and_where_nothing_was_delivered_no_attribute(started: Any) -> None:
    flights = started()
    flights.create_partitions(["first", "with", "without"])
    flights.complete(flights.acquire_partition("first"))
    sent = []
    for key, counted in (("with", COUNTED), ("without", None)):
        before = flights.store.table.requests.copy()
        lease = flights.acquire_partition(key)
        flights.complete(lease, [Block("clean", f"/out/{key}", key, 1, 10)], counted=counted)
        sent.append(flights.store.table.requests - before)
    assert sent[0] == sent[1]
    table = flights.store.table
    items = table.client.scan(TableName=table.name)["Items"]
    heads = {item["partitionKey"]["S"]: "accounting" in item for item in items if "blocks" in item}
    assert heads == {"with": True, "without": False}
    rows = [item for item in items if item.get("sourceIdentifier", {}).get("S", "").endswith("HISTORY")]
    told = {item["partitionKey"]["S"]: "accounting" in json.loads(item["place"]["S"]) for item in rows}
    assert told == {"first": False, "with": True, "without": False}


def test_whoever_ends_an_expired_lease_knows_its_counts(started: Any, clock: FakeClock) -> None:
    dead, alive = started(), started()
    dead.create_partitions(["swept", "taken"])
    for key in ("swept", "taken"):
        dead.save_progress_state(dead.acquire_partition(key), 1, counted=COUNTED)
    clock.advance(700)
    assert alive.acquire_partition("taken") is not None
    assert alive.sweep().reclaimed == 1
    assert {key: alive.history(key)[0].accounting for key in ("swept", "taken")} == {"swept": COUNTED, "taken": COUNTED}


def test_a_tenure_never_begins_after_its_end(started: Any, clock: FakeClock) -> None:
    """What a process takes for the service's time went back in between (simulated on DynamoDB, seed 575)."""
    one = started()
    one.create_partitions(["k"])
    lease = one.acquire_partition("k")
    clock.advance(-0.5)
    one.complete(lease)
    [past] = one.history("k")
    assert past.acquired_at == past.ended_at
