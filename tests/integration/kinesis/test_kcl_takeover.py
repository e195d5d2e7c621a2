"""A source goes on where an application of the Kinesis Client Library has stopped: nothing again, nothing lost."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from airflow_coordination.cli.standalone import main
from airflow_coordination.cli.subcommands import from_kcl
from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.leases.moving import Moving
from airflow_coordination.leases.supply import partitions_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.sources import KinesisShards
from airflow_coordination.stores import open_store
from airflow_coordination.systems.kinesis.checkpoint import Checkpoint
from airflow_coordination.systems.kinesis.landing import ShardPart, ShardReader
from airflow_coordination.systems.kinesis.shards import ShardLease
from scripts.java_packages import download
from tests.engines.kcl import kcl_worker
from tests.integration.kinesis.producer import send
from tests.integration.kinesis.stream import MIDDLE, LocalStream

SOURCE = "flights"
SPLIT_AT = MIDDLE // 2


@dataclass
class Application:
    """A lease table as the KCL writes it, a stream, and the source that goes on with it."""

    tables: Any
    name: str
    stream: LocalStream
    url: str
    endpoint: str

    def create(self, key: str = "leaseKey") -> None:
        self.tables.create_table(
            TableName=self.name,
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
            KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def lease(self, key: str, checkpoint: str, /, sub: int = 0, counter: int = 7, **more: Any) -> None:
        """Write a lease in the form of ``cases/kcl_table.json``."""
        item = {
            "leaseKey": {"S": key},
            "checkpoint": {"S": checkpoint},
            "checkpointSubSequenceNumber": {"N": str(sub)},
            "leaseCounter": {"N": str(counter)},
            "leaseOwner": {"S": "w1"},
            "entityType": {"S": "LEASE"},
            "ownerSwitchesSinceCheckpoint": {"N": "0"},
            **more,
        }
        self.tables.put_item(TableName=self.name, Item=item)

    def take_over(self, *options: str) -> int:
        where = ("--store", self.url, "--region", "us-east-1", "--still-for", "0", "--yes")
        return main(["import-kcl", SOURCE, self.name, *where, *options])

    @property
    def coordinator(self) -> SourceCoordinator:
        store = open_store(self.url)
        store.setup()
        return SourceCoordinator(store, SOURCE, "a reader")

    def read_on(self, *streams: str) -> list[str]:
        """Read all there is as a DAG would that has KinesisShards."""
        coordinator, found = self.coordinator, list[str]()
        if coordinator.pausing.current_pause().paused:
            coordinator.pausing.resume("a person", "the KCL is stopped")
        shards = KinesisShards(streams=streams or [self.stream.name], full_sync_interval=timedelta(0))
        coordinator.run_supplier(shards)
        while lease := coordinator.get_next_partition():
            partition = lease.partition
            progress = partition.progress_state or {}
            after = Checkpoint.from_json(progress["after"]) if progress else None
            reader = ShardReader(ShardPart(ShardLease.of(partition.key, partition.payload), after))
            while not reader.caught_up:
                found += [record.data.decode() for record in reader.read()]
            if reader.ended:
                coordinator.complete(lease)
            else:
                coordinator.close(lease, timedelta(days=1), 1000)
            coordinator.run_supplier(shards)
        return found

    def places(self) -> dict[str, Any]:
        """Return what the source knows of each shard."""
        return {one.key.rpartition(":")[2]: one.progress_state or str(one.status) for one in self.partitions}

    @property
    def partitions(self) -> list[Partition]:
        return list(partitions_of(self.coordinator, ""))


@pytest.fixture
def app(
    main_engine: Any, kinesis_local: str, dynamodb_local: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Application]:
    """An application without leases, on a new stream of two shards."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "local")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_KINESIS", kinesis_local)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", dynamodb_local)
    tables = boto3.client("dynamodb")
    url = f"sqlite:///{tmp_path}/store.db"
    open_store(url).setup()
    with LocalStream.new(main_engine, 2) as stream:
        yield Application(tables, f"kcl-{uuid.uuid4().hex[:12]}", stream, url, kinesis_local)


def test_peer_p4_what_was_read_is_not_read_again_and_nothing_is_lost(app: Application) -> None:
    """A shard was split and finished, its lease is gone, as the KCL cleans up; one child was begun, one was not."""
    low, high = app.stream.shards()
    app.stream.put(b"finished", 0)
    app.stream.split(low, SPLIT_AT)
    left, right = (name for name in app.stream.shards() if name not in (low, high))
    numbers = [app.stream.put(f"left {each}".encode(), 0) for each in range(5)]
    app.stream.put(b"right", SPLIT_AT)
    app.stream.put(b"high", MIDDLE)
    app.create()
    app.lease("Leader", "", entityType={"S": "LEADER"})
    app.lease(left, numbers[2], parentShardId={"SS": [low]})
    app.lease(right, "TRIM_HORIZON", parentShardId={"SS": [low]})
    app.lease(high, "TRIM_HORIZON")
    assert app.take_over("--stream", app.stream.name) == 0
    assert sorted(app.read_on()) == ["high", "left 3", "left 4", "right"]


def test_peer_p4_it_goes_on_inside_of_an_aggregate(app: Application) -> None:
    send(app.stream.client, app.stream.name, range(10))
    shards = {shard: app.stream.read(shard).records for shard in app.stream.shards()}
    aggregate = max((one for records in shards.values() for one in records), key=lambda one: len(one["Data"]))
    app.create()
    expected = {"8", "9"}
    for shard, records in shards.items():
        if aggregate in records:
            app.lease(shard, aggregate["SequenceNumber"], sub=2)
        else:
            app.lease(shard, "TRIM_HORIZON")
            expected |= {one["Data"].decode() for one in records}
    assert app.take_over("--stream", app.stream.name) == 0
    assert set(app.read_on()) == expected


def test_peer_p4_a_child_waits_for_a_parent_that_is_not_finished_and_for_no_other(app: Application) -> None:
    low, high = app.stream.shards()
    number = app.stream.put(b"0", 0)
    app.stream.put(b"1", 0)
    app.stream.merge(low, high)
    (child,) = set(app.stream.shards()) - {low, high}
    app.stream.put(b"2", 0)
    app.create()
    app.lease(low, number)
    app.lease(high, "SHARD_END")
    app.lease(child, "TRIM_HORIZON", parentShardId={"SS": [low, high]})
    assert app.take_over("--stream", app.stream.name) == 0
    waiting = next(one for one in app.partitions if one.key.endswith(child))
    assert [key.rpartition(":")[2] for key in waiting.waits_for] == [low]
    assert app.read_on() == ["1", "2"]


def test_peer_p4_a_dry_run_changes_nothing_and_says_what_it_would_do(
    app: Application, capsys: pytest.CaptureFixture[str]
) -> None:
    low, high = app.stream.shards()
    app.create()
    app.lease(low, "SHARD_END")
    app.lease(high, app.stream.put(b"high", MIDDLE))
    app.lease("shardId-000000000999", "5")
    assert app.take_over("--stream", app.stream.name, "--dry-run") == 0
    said = capsys.readouterr().err
    assert f"2 shard(s) of {app.stream.name}, 1 of them read to the end" in said
    assert "Left out: 'shardId-000000000999': Kinesis has no such shard any more." in said
    assert "Dry run" in said
    assert app.places() == {}


def test_peer_p4_a_table_that_moves_is_refused(
    app: Application, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    low, high = app.stream.shards()
    app.create()
    app.lease(low, "TRIM_HORIZON")
    app.lease(high, "TRIM_HORIZON")
    meanwhile = SimpleNamespace(sleep=lambda seconds: app.lease(low, "TRIM_HORIZON", counter=8))
    monkeypatch.setattr(from_kcl, "time", meanwhile)  # in this module alone: other threads sleep, too
    assert app.take_over("--stream", app.stream.name) == 1
    assert "worker 'w1' still works on it" in capsys.readouterr().err
    assert app.places() == {}


def test_peer_p4_interrupted_it_goes_on(app: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    low, high = app.stream.shards()
    number = app.stream.put(b"0", 0)
    app.stream.split(low, SPLIT_AT)
    left, right = (name for name in app.stream.shards() if name not in (low, high))
    app.create()
    app.lease(low, "SHARD_END")
    app.lease(high, "TRIM_HORIZON")
    app.lease(left, str(int(number) + 1))
    app.lease(right, "TRIM_HORIZON")
    settle_in, pages = Moving.settle_in, list[int]()

    def cut(self: Moving, lives: Any, op: str) -> Any:
        pages.append(len(lives))
        if len(pages) == 2:
            raise KeyboardInterrupt
        return settle_in(self, lives, op)

    monkeypatch.setattr(Moving, "settle_in", cut)
    with pytest.raises(KeyboardInterrupt):
        app.take_over("--stream", app.stream.name)
    assert app.take_over("--stream", app.stream.name) == 0
    assert app.take_over("--stream", app.stream.name) == 0
    progress = {"after": [str(int(number) + 1), 0]}
    assert app.places() == {low: "COMPLETED", high: "UNASSIGNED", left: progress, right: "UNASSIGNED"}


def test_peer_p4_several_streams_of_one_table(app: Application, capsys: pytest.CaptureFixture[str]) -> None:
    told = app.stream.summary()
    account, epoch = told["StreamARN"].split(":")[4], int(told["StreamCreationTimestamp"].timestamp())
    low, high = app.stream.shards()
    number = app.stream.put(b"0", 0)
    app.stream.put(b"1", 0)
    app.create()
    app.lease(f"{account}:{app.stream.name}:{epoch}:{low}", number)
    app.lease(f"{account}:{app.stream.name}:{epoch}:{high}", "TRIM_HORIZON")
    app.lease(f"{account}:other:{epoch}:{high}", "3")
    assert app.take_over("--stream", app.stream.name) == 0
    assert "its stream was not asked for" in capsys.readouterr().err
    assert app.read_on() == ["1"]


def test_peer_p4_a_stream_that_was_made_anew_is_left_out(app: Application, capsys: pytest.CaptureFixture[str]) -> None:
    account = app.stream.summary()["StreamARN"].split(":")[4]
    low, _ = app.stream.shards()
    app.create()
    app.lease(f"{account}:{app.stream.name}:1:{low}", "5")
    assert app.take_over() == 0
    assert "the stream was deleted since, and made anew" in capsys.readouterr().err
    assert app.places() == {}


def test_peer_p4_a_lease_without_a_place_needs_a_moment(app: Application, capsys: pytest.CaptureFixture[str]) -> None:
    low, high = app.stream.shards()
    app.create()
    app.lease(low, "LATEST")
    app.lease(high, "AT_TIMESTAMP")
    assert app.take_over("--stream", app.stream.name) == 1
    assert "begins at LATEST, of which the table keeps no time" in capsys.readouterr().err
    assert app.take_over("--stream", app.stream.name, "--begin-at", "2026-11-25T08:00:00") == 1
    assert "has no time zone" in capsys.readouterr().err
    assert app.take_over("--stream", app.stream.name, "--begin-at", "2026-11-25T08:00:00+00:00") == 0
    began = {ShardLease.of(one.key, one.payload).position.since for one in app.partitions}
    assert began == {datetime(2026, 11, 25, 8, tzinfo=UTC)}


def test_peer_p4_a_child_ahead_of_its_parent_is_refused(app: Application, capsys: pytest.CaptureFixture[str]) -> None:
    low, high = app.stream.shards()
    app.stream.split(low, SPLIT_AT)
    left, _ = (name for name in app.stream.shards() if name not in (low, high))
    app.create()
    app.lease(low, "5")
    app.lease(left, "9")
    assert app.take_over("--stream", app.stream.name) == 1
    assert f"parent {low} is not at SHARD_END" in capsys.readouterr().err


ODD = [
    ({"leaseKey": {"S": "shardId-1"}}, "leaseKey"),
    ({"checkpoint": {"S": "007"}}, "checkpoint"),
    ({"checkpoint": {"N": "7"}}, "checkpoint"),
    ({"checkpointSubSequenceNumber": {"N": "1.5"}}, "checkpoint"),
    ({"leaseCounter": {"N": "-1"}}, "leaseCounter"),
    ({"entityType": {"SS": ["LEASE"]}}, "entityType"),
]


@pytest.mark.parametrize(("odd", "field"), ODD)
def test_peer_p4_an_odd_item_is_named(
    app: Application, odd: dict[str, Any], field: str, capsys: pytest.CaptureFixture[str]
) -> None:
    low, _ = app.stream.shards()
    app.create()
    app.lease(low, "5", **odd)
    assert app.take_over("--stream", app.stream.name) == 1
    assert f"Error: {field}" in capsys.readouterr().err


def test_peer_p4_what_is_no_lease_table_is_refused(app: Application, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.take_over("--stream", app.stream.name) == 1
    assert "is no table here" in capsys.readouterr().err
    app.create("id")
    assert app.take_over("--stream", app.stream.name) == 1
    assert "is no lease table of the KCL" in capsys.readouterr().err


def test_peer_p4_a_stream_has_to_be_named_where_the_table_does_not(
    app: Application, capsys: pytest.CaptureFixture[str]
) -> None:
    low, _ = app.stream.shards()
    app.create()
    assert app.take_over("--stream", app.stream.name) == 1
    assert "has no lease in it" in capsys.readouterr().err
    app.lease(low, "5")
    assert app.take_over() == 1
    assert "Name that stream: --stream NAME" in capsys.readouterr().err
    assert app.take_over("--stream", "nobody-has-it") == 1
    assert "is no stream here" in capsys.readouterr().err


def test_peer_p4_a_source_that_has_gone_on_stays_as_it_is(app: Application, capsys: pytest.CaptureFixture[str]) -> None:
    low, high = app.stream.shards()
    app.create()
    app.lease(low, app.stream.put(b"0", 0))
    app.lease(high, "TRIM_HORIZON")
    assert app.take_over("--stream", app.stream.name) == 0
    app.stream.put(b"1", 0)
    assert app.read_on() == ["1"]
    assert app.take_over("--stream", app.stream.name) == 1
    assert "was here already with another life, and is left as it is" in capsys.readouterr().err
    assert {str(one.status) for one in app.partitions} == {str(PartitionStatus.CLOSED)}


@pytest.mark.long
@pytest.mark.timeout(900)
def test_peer_p4_a_table_of_the_real_kcl(app: Application, dynamodb_local: str, tmp_path: Path) -> None:
    """4,500 records, half of them in aggregates; a split, a merge, a killed worker, one that leaves half way."""
    jars, name = download("kcl"), app.stream.name

    def worker(called: str) -> Any:
        return kcl_worker(jars, tmp_path, app.name, name, called, app.endpoint, dynamodb_local)

    send(app.stream.client, name, range(1500))
    low, high = app.stream.shards()
    with worker("w0") as first:
        first.wait_for(lambda: len(first.read) > 300)
        app.stream.split(low, SPLIT_AT)
        send(app.stream.client, name, range(1500, 3000))
        first.wait_for(lambda: len(first.read) > 900)
        first.kill()
    _, right = (shard for shard in app.stream.shards() if shard not in (low, high))
    app.stream.merge(right, high)
    send(app.stream.client, name, range(3000, 4500))
    with worker("w1") as second:
        second.wait_for(lambda: len(first.read | second.read) > 2500)
        second.stop()
    read, done = first.read | second.read, first.done | second.done
    assert 2500 < len(read) < 4500
    assert app.take_over("--stream", name) == 0
    here = app.read_on()
    assert len(here) == len(set(here))
    assert done & set(here) == set()
    assert read | set(here) == set(map(str, range(4500)))
