"""The supplier of shards: what it creates, what it asks for, and what a crash leaves to the next one."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from airflow_coordination.leases import PartitionIdentifier, PartitionStatus, SourceCoordinator
from airflow_coordination.leases.supply import SupplierRun
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.sources import KinesisShards, SourceError
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.systems.kinesis import supplier as module
from airflow_coordination.systems.suppliers import wrapped
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from airflow_coordination.values.input_errors import CoordinationError, ProgressStateError
from tests.unit.systems.kinesis.service import BEGIN, Service

HOUR = timedelta(hours=1)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    service = Service()
    monkeypatch.setattr(module, "connect", lambda *_: service)
    return service


@pytest.fixture
def c() -> SourceCoordinator:
    return coordinator(InMemoryStore(clock=FakeClock()))


def coordinator(store: PartitionStore, owner: str = "host/dag/run/task/0/1") -> SourceCoordinator:
    return SourceCoordinator(store, "orders", owner)


def leases(c: SourceCoordinator) -> dict[str, list[str]]:
    """Return of each shard where it starts, and what it waits for, by the numbers of shards."""
    return {
        one.key[-2:]: [str((one.payload or {})["start"]), *(key[-2:] for key in one.waits_for)]
        for one in c.partitions()
    }


def complete(c: SourceCoordinator, shard: str) -> None:
    [key] = [one.key for one in c.partitions() if one.key.endswith(shard)]
    lease = c.acquire_partition(key)
    assert lease is not None
    c.complete(lease)


def run(c: SourceCoordinator, **options: Any) -> SupplierRun:
    return c.run_supplier(KinesisShards(**{"streams": ["orders"], **options}))


def test_keys_and_payloads(service: Service, c: SourceCoordinator) -> None:
    service.create("orders", 2)
    run(c)
    [one, _] = c.partitions()
    assert one.key == f"123456789012:orders:{int(BEGIN.timestamp())}:shardId-000000000000"
    assert one.payload == {
        "arn": "arn:aws:kinesis:eu-central-1:123456789012:stream/orders",
        "start": "TRIM_HORIZON",
        "range": ["0", str(2**127 - 1)],
    }


def test_children_come_when_their_parents_are_read(service: Service, c: SourceCoordinator) -> None:
    stream = service.create("orders", 2)
    [one, two] = stream.shards
    merged = service.merge(stream, *service.split(stream, one))
    service.merge(stream, merged, two)
    run(c, full_sync_interval=timedelta(0))
    assert leases(c) == {"00": ["TRIM_HORIZON"], "01": ["TRIM_HORIZON"]}
    complete(c, "00")
    run(c, full_sync_interval=timedelta(0))
    assert leases(c).keys() == {"00", "01", "02", "03"}
    complete(c, "02")
    run(c, full_sync_interval=timedelta(0))
    assert leases(c).keys() == {"00", "01", "02", "03"}  # a merge starts when both are read
    complete(c, "03")
    complete(c, "01")
    run(c, full_sync_interval=timedelta(0))
    complete(c, "04")
    run(c, full_sync_interval=timedelta(0))
    complete(c, "05")
    assert c.counts()[PartitionStatus.COMPLETED] == 6


def test_shards_that_were_read_are_cleaned_up_and_not_planned_again(service: Service, c: SourceCoordinator) -> None:
    def run_and_clean() -> int:
        shards = KinesisShards(streams=["orders"], full_sync_interval=timedelta(0))
        return c.run_supplier(shards, clean_after=timedelta(hours=24)).cleaned_up

    clock = c.store._clock  # type: ignore[attr-defined]
    stream = service.create("orders", 1)
    service.split(stream, *stream.shards)
    run_and_clean()
    complete(c, "00")
    clock.advance(25 * HOUR)
    assert (run_and_clean(), leases(c).keys()) == (0, {"00", "01", "02"})  # its children have not begun
    for shard in ("01", "02"):
        complete(c, shard)
    assert (run_and_clean(), leases(c).keys()) == (1, {"01", "02"})
    service.split(stream, "shardId-000000000001")
    run_and_clean()
    for shard in ("03", "04"):
        complete(c, shard)
    clock.advance(25 * HOUR)
    assert (run_and_clean(), leases(c).keys()) == (1, {"02", "03", "04"})  # what has no children stays
    assert [run_and_clean() for _ in range(3)] == [0, 0, 0]
    assert leases(c).keys() == {"02", "03", "04"}


def test_kinesis_is_not_asked_while_leases_cover_everything(service: Service, c: SourceCoordinator) -> None:
    service.create("orders", 3)
    for _ in range(5):
        run(c)
    assert service.requests.count("list_shards") == 1
    counts = {name.rpartition("_")[2]: number for name, number in c.metrics.counts.items()}  # type: ignore[attr-defined]
    assert (counts["shardSyncs"], counts["shardSyncsAvoided"]) == (1, 4)


def test_a_hole_counts_when_it_was_seen_often_enough(service: Service, c: SourceCoordinator) -> None:
    stream = service.create("orders", 2)
    run(c)
    service.split(stream, "shardId-000000000000")
    complete(c, "00")
    listed = []
    for _ in range(4):
        run(c)
        listed.append((service.requests.count("list_shards"), len(leases(c))))
    assert listed == [(1, 2), (1, 2), (2, 4), (2, 4)]


def test_a_hole_that_no_plan_closes_is_said(
    service: Service, c: SourceCoordinator, caplog: pytest.LogCaptureFixture
) -> None:
    stream = service.create("orders", 2)
    run(c)
    complete(c, "00")  # somebody has finished it by hand; it is open
    run(c, full_sync_interval=timedelta(0))
    assert "No lease of stream arn:aws:kinesis:eu-central-1:123456789012:stream/orders covers the hash keys 0 to" in (
        caplog.text
    )
    assert stream.shards


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER], ids=["before", "after"])
@pytest.mark.parametrize("position", ["LATEST", "TRIM_HORIZON"])
def test_s11_killed_at_every_store_call_and_resharded_meanwhile(
    service: Service, monkeypatch: pytest.MonkeyPatch, position: str, fault: Fault
) -> None:
    """Whoever goes on begins where the first has begun: LATEST is one instant, and skips nothing after it."""
    monkeypatch.setattr("airflow_coordination.leases.supply.CREATE_PAGE", 2)
    stream = service.create("orders", 5)
    undisturbed = FaultyStore(InMemoryStore(clock=FakeClock()))
    run(coordinator(undisturbed), initial_position=position)
    expected = leases(coordinator(undisturbed.store))
    assert len(expected) == 5
    assert len(undisturbed.calls) > 6
    for call in range(1, len(undisturbed.calls) + 1):
        stream = service.create("orders", 5)
        clock = FakeClock()
        store = FaultyStore(InMemoryStore(clock=clock), {call: fault})
        with pytest.raises(Crash):
            run(coordinator(store), initial_position=position)
        begun = coordinator(store.store, "other").supplying.global_state()
        clock.advance(timedelta(minutes=11))
        service.now += timedelta(minutes=11)
        service.split(stream, "shardId-000000000003")
        survivor = coordinator(store.store, "other")
        assert run(survivor, initial_position=position, full_sync_interval=timedelta(0)).ran
        if position == "TRIM_HORIZON" or begun:
            assert leases(survivor) == expected, f"after a crash at call {call}"
        else:  # nothing was decided: the instant is that of the survivor's listing
            assert leases(survivor).keys() == {"00", "01", "02", "04", "05", "06"}
        since = {(one.payload or {}).get("since") for one in survivor.partitions()}
        assert len(since) == 1


def test_latest_stays_the_instant_of_the_first_listing(service: Service, c: SourceCoordinator) -> None:
    service.create("orders", 1)
    run(c, initial_position="LATEST")
    [one] = c.partitions()
    assert (one.payload or {})["since"] == service.now.isoformat()
    before = service.now
    service.now += HOUR
    c.people.delete(one.key, by="ana", why="test")
    run(c, initial_position="LATEST", full_sync_interval=timedelta(0))
    [one] = c.partitions()
    assert (one.payload or {})["since"] == before.isoformat()


def test_latest_begins_again_with_what_was_open_at_its_instant(service: Service, c: SourceCoordinator) -> None:
    """Somebody has deleted all leases; the shard was split since, and has records that nobody has read."""
    stream = service.create("orders", 1)
    run(c, initial_position="LATEST")
    c.people.delete(c.partitions()[0].key, by="ana", why="test")
    service.split(stream, "shardId-000000000000")
    run(c, initial_position="LATEST")
    assert leases(c) == {"00": ["LATEST"]}


@pytest.mark.parametrize("later", ["LATEST", BEGIN + HOUR])
def test_children_go_on_where_their_parents_have_begun(service: Service, c: SourceCoordinator, later: Any) -> None:
    """What is asked for today is for streams without partitions."""
    stream = service.create("orders", 1)
    run(c)
    service.split(stream, "shardId-000000000000")
    complete(c, "00")
    run(c, initial_position=later, full_sync_interval=timedelta(0))
    assert leases(c) == {"00": ["TRIM_HORIZON"], "01": ["TRIM_HORIZON"], "02": ["TRIM_HORIZON"]}


def test_children_of_a_timestamp_keep_it(service: Service, c: SourceCoordinator) -> None:
    stream = service.create("orders", 1)
    run(c, initial_position=service.now)
    service.split(stream, "shardId-000000000000")
    complete(c, "00")
    run(c, initial_position=service.now + HOUR, full_sync_interval=timedelta(0))
    assert len({(one.payload or {})["since"] for one in c.partitions()}) == 1
    assert len(c.partitions()) == 3


def test_what_a_lease_leads_to_is_no_hole(
    service: Service, c: SourceCoordinator, caplog: pytest.LogCaptureFixture
) -> None:
    """A merge waits for the parent that is still read."""
    stream = service.create("orders", 2)
    run(c)
    service.merge(stream, *stream.shards)
    complete(c, "00")
    run(c, full_sync_interval=timedelta(0))
    assert leases(c).keys() == {"00", "01"}
    assert "No lease of stream" not in caplog.text


def test_a_timestamp_begins_with_what_was_open_then(service: Service, c: SourceCoordinator) -> None:
    stream = service.create("orders", 1)
    service.split(stream, "shardId-000000000000")
    service.now += HOUR
    instant = service.now
    service.now += HOUR
    service.split(stream, "shardId-000000000001")
    run(c, initial_position=instant)
    assert leases(c) == {"01": ["AT_TIMESTAMP"], "02": ["AT_TIMESTAMP"]}


@pytest.mark.parametrize("position", [BEGIN - HOUR, BEGIN + timedelta(seconds=2)])
def test_a_timestamp_before_all_that_is_left_begins_with_the_oldest(
    service: Service, c: SourceCoordinator, position: Any
) -> None:
    """Before the stream's creation nothing was alive; and of what was alive at a later time, one may be trimmed."""
    stream = service.create("orders", 2)
    service.now += HOUR
    service.split(stream, "shardId-000000000000")
    del stream.shards["shardId-000000000000"]
    for child in ("shardId-000000000002", "shardId-000000000003"):
        stream.shards[child][0] = []  # whose parent is trimmed
    run(c, initial_position=position)
    assert leases(c) == {number: ["AT_TIMESTAMP"] for number in ("01", "02", "03")}


def test_pages_of_a_listing_are_joined(service: Service, c: SourceCoordinator) -> None:
    service.page = 2
    service.create("orders", 7)
    run(c)
    assert len(leases(c)) == 7


def test_one_stream_s_error_does_not_stop_the_others(service: Service, c: SourceCoordinator) -> None:
    service.create("returns", 2)
    with pytest.raises(SourceError, match=r"Cannot list shards: orders is no stream here\. Check its name"):
        run(c, streams=["orders", "returns"])
    assert len(c.partitions()) == 2
    assert c.supplying.global_state()["KINESIS"]


def test_a_stream_that_is_being_created_waits(service: Service, c: SourceCoordinator) -> None:
    service.create("orders", 2).status = "CREATING"
    run(c)
    assert not c.partitions()


def test_a_listing_in_the_middle_of_a_reshard_is_tried_again(service: Service, c: SourceCoordinator) -> None:
    stream = service.create("orders", 1)
    run(c)
    service.split(stream, "shardId-000000000000")
    stream.shards["shardId-000000000000"][4] = None
    with pytest.raises(CoordinationError, match=r"open shards with an open parent: shardId-000000000001, shardId"):
        run(c, full_sync_interval=timedelta(0))
    run(c, full_sync_interval=timedelta(0), ignore_unexpected_child_shards=True)
    assert leases(c).keys() == {"00"}


def test_a_stream_that_is_not_asked_for_goes_after_a_while(service: Service, c: SourceCoordinator) -> None:
    """Children go before the parents that they wait for; what is held stays."""
    service.create("orders", 1)
    returns = service.create("returns", 2)
    run(c, streams=["orders", "returns"])
    one, two = (one for one in c.partitions() if ":returns:" in one.key)
    service.split(returns, "shardId-000000000000")
    child = f"{one.key[:-1]}2"
    c.create_partitions([PartitionIdentifier(child, one.payload, parents=(one.key,))])
    held = c.acquire_partition(two.key)
    run(c)
    assert len(c.partitions()) == 4
    run(c, deferred_stream_deletion=timedelta(0))
    assert [one.key for one in c.partitions() if ":returns:" in one.key] == [two.key]
    assert len(c.supplying.global_state()["KINESIS"]) == 2
    assert held is not None
    c.give_up(held)
    run(c, deferred_stream_deletion=timedelta(0))
    assert [one.key[-2:] for one in c.partitions()] == ["00"]
    assert len(c.supplying.global_state()["KINESIS"]) == 1


def test_a_stream_that_comes_back_in_time_keeps_its_partitions(service: Service, c: SourceCoordinator) -> None:
    for name in ("orders", "returns"):
        service.create(name, 1)
    run(c, streams=["orders", "returns"])
    run(c)
    assert any("removed" in each for each in c.supplying.global_state()["KINESIS"].values())
    run(c, streams=["orders", "returns"])
    assert not any("removed" in each for each in c.supplying.global_state()["KINESIS"].values())


def test_a_stream_made_anew_is_another_one(service: Service, c: SourceCoordinator) -> None:
    service.create("orders", 1)
    run(c)
    complete(c, "00")
    service.now += HOUR
    service.create("orders", 2)
    run(c)
    assert len(c.partitions()) == 3
    run(c, deferred_stream_deletion=timedelta(0))
    assert len(c.partitions()) == 2


def test_streams_may_come_from_a_function_and_be_arns(service: Service, c: SourceCoordinator) -> None:
    service.create("orders", 1)
    run(c, streams=lambda: ["arn:aws:kinesis:eu-central-1:123456789012:stream/orders"])
    assert len(c.partitions()) == 1


def test_the_state_is_json_and_other_things_in_it_stay(service: Service, c: SourceCoordinator) -> None:
    service.create("orders", 2)
    run(c)
    assert json.loads(json.dumps(c.supplying.global_state())) == c.supplying.global_state()


@pytest.mark.parametrize("kept", [{"x": 1}, {"x": {"listed": "yesterday"}}, {"x": {"hole": [["a", "b"]]}}, [1]])
def test_a_state_that_cannot_be_read_is_named(service: Service, kept: Any) -> None:
    service.create("orders", 2)
    supplier = KinesisShards(streams=["orders"])
    with pytest.raises(ProgressStateError, match=r"global_state\.KINESIS.*Repair it in the store"):
        list(supplier.supply({"KINESIS": kept}, coordinator(InMemoryStore()).supplying._view))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"streams": []}, r"streams=\[\]: is no list of different names\. Give names or ARNs"),
        ({"streams": "orders"}, r"streams='orders': is no list"),
        ({"streams": ["a", "a"]}, r"streams=\['a', 'a'\]: is no list"),
        ({"initial_position": "NOW"}, r"initial_position='NOW': is no position in a stream\. Give \"TRIM_HORIZON\""),
        ({"initial_position": BEGIN.replace(tzinfo=None)}, r"initial_position=.*has no time zone"),
        ({"full_sync_interval": timedelta(-1)}, r"full_sync_interval=.*is negative"),
        ({"deferred_stream_deletion": 60}, r"deferred_stream_deletion=60: is int, not a timedelta"),
        (
            {"leases_recovery_auditor_inconsistency_confidence_threshold": 0},
            r"leases_recovery_auditor_inconsistency_confidence_threshold=0: is no whole number above zero",
        ),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CoordinationError, match=message):
        KinesisShards(**{"streams": ["orders"], **options})


def test_an_arn_of_another_account_is_refused(service: Service, c: SourceCoordinator) -> None:
    """Its shards would be listed by name: those of this account."""
    service.create("orders", 1)
    arn = "arn:aws:kinesis:eu-central-1:999999999999:stream/orders"
    with pytest.raises(
        SourceError, match=r"999999999999:stream/orders is not the stream of that name here, which is arn"
    ):
        run(c, streams=[arn])
    assert not c.partitions()


def test_a_partition_that_is_no_shard_stops_its_stream_only(service: Service, c: SourceCoordinator) -> None:
    for name in ("orders", "returns"):
        service.create(name, 1)
    c.create_partitions([f"123456789012:orders:{int(BEGIN.timestamp())}:shardId-7"])
    with pytest.raises(CoordinationError, match="is not of stream orders of account 123456789012"):
        run(c, streams=["orders", "returns"])
    assert len(c.partitions()) == 2


def test_the_class_itself_is_no_supplier(c: SourceCoordinator) -> None:
    with pytest.raises(CoordinationError, match=r"supplier=.*KinesisShards.*: is a class, not an object of it"):
        c.run_supplier(KinesisShards)  # type: ignore[arg-type]


def test_the_password_in_an_address_is_in_no_error() -> None:
    refused = EndpointConnectionError(endpoint_url="http://ana:hunter2@127.0.0.1:1/")
    with pytest.raises(SourceError, match=r": orders answers .*ana:\*\*\*@127") as raised, wrapped("look", "orders"):
        raise refused
    assert "hunter2" not in str(raised.value)
