"""A partition function reads its shard with real Spark from a real engine."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_coordination.leases import PartitionIdentifier, PartitionStatus, Settings, SourceCoordinator
from airflow_coordination.protocol.metrics import CountingMetrics
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.sources import KinesisShards
from airflow_coordination.spark import Drained, drain, read_completed, shard
from airflow_coordination.stores import open_store
from airflow_coordination.values.input_errors import CoordinationError
from tests.engines.kinesis import connected
from tests.integration.kinesis.producer import send
from tests.integration.kinesis.stream import MIDDLE, LocalStream
from tests.kpl import aggregate

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(400)]


@dataclass
class Stream:
    """A stream of one shard, a source that reads it, and a session."""

    local: LocalStream
    endpoint: str
    spark: Any
    store: PartitionStore
    output_root: str

    @property
    def name(self) -> str:
        return self.local.name

    def send(self, numbers: range) -> None:
        send(self.local.client, self.name, numbers)

    @property
    def coordinator(self) -> SourceCoordinator:
        return SourceCoordinator(self.store, self.name, "a person")

    def discover(self, **options: Any) -> None:
        supplier = KinesisShards(streams=[self.name], endpoint_url=self.endpoint, region_name="us-east-1", **options)
        self.coordinator.run_supplier(supplier)

    def drain(self, main: Callable[..., Any], **options: Any) -> Drained:
        return drain(
            main, store=self.store, source=self.name, spark=self.spark, output_root=self.output_root, **options
        )

    def reading(self, use: Callable[..., None], **options: Any) -> Callable[..., Any]:
        """Return a function that reads until it has caught up, and hands each batch on."""

        def main(spark: Any, lease: Any) -> Any:
            told = {"seconds": 5, "until_caught_up": True, "client_options": self.options, **options}
            with shard(spark, lease, **told) as batches:
                for batch in batches:
                    use(lease, batch, batches)
            return batches.outcome

        return main

    @property
    def options(self) -> dict[str, str]:
        return {
            "endpoint_url": self.endpoint,
            "region_name": "us-east-1",
            "aws_access_key_id": "x",
            "aws_secret_access_key": "x",
        }

    def numbers(self) -> list[int]:
        rows = read_completed(self.spark, store=self.store, source=self.name, dataset="orders")
        return [row.number for row in rows.selectExpr("int(string(data)) as number").orderBy("number").collect()]

    def split(self) -> None:
        [only] = self.local.shards()
        self.local.split(only, MIDDLE)


@pytest.fixture
def stream(kinesis_local: str, spark: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stream]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    store.setup()
    with connected(kinesis_local) as client, LocalStream.new(client, 1) as local:
        yield Stream(local, kinesis_local, spark, store, str(tmp_path / "out"))
    store.close()


def publish(lease: Any, batch: Any, _: Any) -> None:
    with lease.publish("orders") as block:
        batch.records.write.parquet(block.path)


def test_batches_are_cut_inside_of_aggregates_and_nothing_is_there_twice(stream: Stream) -> None:
    stream.send(range(100))
    stream.discover()
    sizes = []

    def count(lease: Any, batch: Any, batches: Any) -> None:
        sizes.append(batch.count)
        publish(lease, batch, batches)

    assert stream.drain(stream.reading(count, records=37)).closed == 1
    assert sizes == [37, 37, 26]
    [partition] = stream.coordinator.partitions()
    assert partition.progress_state["after"][1] == 4  # of the last aggregate
    assert re.fullmatch(r"20\d\d-.*\+00:00", partition.progress_state["at"])
    assert stream.numbers() == list(range(100))


def test_how_far_behind_a_reader_is_and_that_it_has_ended(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    stream.send(range(40))
    stream.discover()
    seen: list[int | None] = []
    gauge = f"{stream.name}_source_coordinator_millisBehindLatest"
    metrics = CountingMetrics()

    def look(lease: Any, batch: Any, batches: Any) -> None:
        monkeypatch.setattr(lease.coordinator.counting._core, "metrics", metrics)
        seen.append(metrics.gauges.get(gauge))
        publish(lease, batch, batches)

    before = time.monotonic()
    assert stream.drain(stream.reading(look, records=20)).closed == 1
    assert seen[0] is None
    assert 0 < (seen[1] or 0) <= 1000 * (time.monotonic() - before) + 60_000  # how old the twentieth record was
    assert metrics.gauges[gauge] == 0


def test_who_comes_too_late_for_records_is_told(stream: Stream, caplog: pytest.LogCaptureFixture) -> None:
    stream.send(range(10))
    stream.discover()
    assert stream.drain(stream.reading(publish, reopen_after=timedelta(0))).closed == 1
    assert "keeps records" not in caplog.text
    [partition] = stream.coordinator.partitions()
    lease = stream.coordinator.acquire_partition(partition.key)
    assert lease is not None
    old = (datetime.now(UTC) - timedelta(hours=25)).isoformat()
    stream.coordinator.close(lease, timedelta(0), {**partition.progress_state, "at": old})
    assert stream.drain(stream.reading(publish)).closed == 1
    assert "its stream keeps records for 1 day, 0:00:00 only: those that came after" in caplog.text


def test_the_end_of_a_shard_creates_its_children_and_completes(stream: Stream) -> None:
    """Without the supplier, which would be asked a minute later."""
    stream.send(range(40))
    stream.discover()
    stream.split()
    assert stream.drain(stream.reading(publish)).completed == 1
    parent, left, right = stream.coordinator.partitions()
    assert parent.status is PartitionStatus.COMPLETED
    assert [child.parents for child in (left, right)] == [(parent.key,)] * 2
    assert not left.waits_for
    assert left.payload == {**parent.payload, "range": ["0", str(2**127 - 1)]}
    assert stream.drain(stream.reading(publish), max_leases=2).closed == 2
    assert stream.numbers() == list(range(40))


def test_the_landed_files_themselves_can_be_published(stream: Stream) -> None:
    stream.send(range(50))
    stream.discover()
    assert stream.drain(stream.reading(lambda *_: None, records=20, publish_landing="orders")).closed == 1
    assert stream.numbers() == list(range(50))
    assert stream.drain(stream.reading(lambda *_: None, publish_landing="orders")).closed == 0  # for a minute


def test_a_tenure_that_fails_leaves_its_last_batch_to_the_next_one(stream: Stream) -> None:
    stream.send(range(60))
    stream.discover()
    seen: list[int] = []

    def fail_once(lease: Any, batch: Any, batches: Any) -> None:
        publish(lease, batch, batches)
        seen.append(batch.count)
        if len(seen) == 2:
            raise RuntimeError("the second batch")

    assert stream.drain(stream.reading(fail_once, records=25)).failed == 1
    [partition] = stream.coordinator.partitions()
    stream.coordinator.people.reopen(partition.key, by="ana", why="test")
    assert stream.drain(stream.reading(fail_once, records=25)).closed == 1
    assert seen == [25, 25, 25, 10]
    assert stream.numbers() == list(range(60))


def test_a_loop_that_is_left_early_has_no_outcome(stream: Stream) -> None:
    """It would publish a batch whose place is not saved, and read it again."""
    stream.send(range(30))
    stream.discover()

    def main(spark: Any, lease: Any) -> Any:
        with shard(spark, lease, seconds=5, records=10, client_options=stream.options) as batches:
            for batch in batches:
                publish(lease, batch, batches)
                break
        return batches.outcome

    drained = stream.drain(main)
    assert drained.failed == 1
    assert "outcome=None: is asked for before the loop over the batches has ended. Call stop()" in drained.errors[0][1]


def test_stop_ends_the_loop_behind_the_batch_in_hand(stream: Stream) -> None:
    stream.send(range(30))
    stream.discover()

    def stop(lease: Any, batch: Any, batches: Any) -> None:
        publish(lease, batch, batches)
        batches.stop()

    assert stream.drain(stream.reading(stop, records=10, reopen_after=timedelta(0))).closed == 1
    assert stream.numbers() == list(range(10))
    assert stream.drain(stream.reading(publish)).closed == 1
    assert stream.numbers() == list(range(30))


def test_latest_begins_with_the_listing_whenever_it_is_read(stream: Stream) -> None:
    """The KCL's LATEST would skip the records in between (decision 48)."""
    stream.send(range(10))
    stream.discover(initial_position="LATEST")
    [partition] = stream.coordinator.partitions()
    assert partition.payload["start"] == "LATEST"
    stream.send(range(10, 30))
    assert stream.drain(stream.reading(publish)).closed == 1
    assert set(range(10, 30)) <= set(stream.numbers())


def test_a_shard_that_is_gone_is_completed_and_a_stream_that_is_gone_is_an_error(stream: Stream) -> None:
    stream.discover()
    [real] = stream.coordinator.partitions()
    gone = f"{real.key[:-1]}9"
    stream.coordinator.create_partitions([PartitionIdentifier(gone, real.payload, priority=-1)])
    drained = stream.drain(stream.reading(publish))
    assert (drained.completed, drained.keys) == (1, (gone,))
    other = real.key.replace(stream.name, "no-such-stream")
    payload = {**real.payload, "arn": real.payload["arn"].replace(stream.name, "no-such-stream")}
    stream.coordinator.create_partitions([PartitionIdentifier(other, payload, priority=-1)])
    drained = stream.drain(stream.reading(publish))
    assert (drained.failed, drained.keys) == (1, (other,))
    assert "ResourceNotFoundException" in drained.errors[0][1]


def test_a_stream_that_was_made_anew_is_not_read_under_the_keys_of_the_old_one(stream: Stream) -> None:
    """Its shards have the same ids, and partitions of their own: their records would be there twice."""
    stream.discover()
    epoch = int(stream.local.summary()["StreamCreationTimestamp"].timestamp())
    while int(stream.local.summary()["StreamCreationTimestamp"].timestamp()) == epoch:  # which is a whole second
        stream.local.drop()
        stream.local.create(1)
    stream.send(range(10))
    drained = stream.drain(stream.reading(publish))
    assert drained.failed == 1
    assert re.search(rf"stream='{stream.name}': is arn:\S+, created 20.* UTC here, and this.*", drained.errors[0][1])
    stream.discover(deferred_stream_deletion=timedelta(0))
    assert stream.drain(stream.reading(publish)).closed == 1
    assert stream.numbers() == list(range(10))


def test_a_shard_ends_behind_any_number_of_aggregates_of_other_shards(stream: Stream) -> None:
    """One after the other they took a second each, and a pass is over before that."""
    stream.discover()
    stream.split()
    assert stream.drain(stream.reading(publish)).completed == 1
    left, _ = (one.key.rpartition(":")[2] for one in stream.coordinator.partitions() if one.parents)
    stream.local.put(b"1")
    for _ in range(60):
        stream.local.put(aggregate([("of the other", str(MIDDLE), b"2")]))
    stream.local.split(left, MIDDLE // 2)
    done = stream.drain(stream.reading(publish, max_runtime=timedelta(seconds=25)), max_leases=1)
    assert (done.completed, done.keys[0].endswith(left)) == (1, True)
    assert stream.numbers() == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"records": 0}, "records=0: is no number of records. Give a whole number, 1 or more"),
        ({"records": "many"}, "records='many': is no number of records"),
        ({"seconds": 0}, "seconds=0: is no number above zero"),
        ({"seconds": timedelta(seconds=5)}, "seconds=datetime.timedelta(seconds=5): is no number above zero"),
        ({"max_runtime": timedelta(0)}, "max_runtime"),
        ({"reopen_after": timedelta(-1)}, "reopen_after"),
    ],
)
def test_arguments_that_cannot_be_used(stream: Stream, options: dict[str, Any], message: str) -> None:
    stream.discover()
    drained = stream.drain(stream.reading(publish, **options))
    assert (drained.failed, message in drained.errors[0][1]) == (1, True), drained.errors


def test_a_limit_of_closes_would_complete_a_shard_too_early(stream: Stream) -> None:
    stream.discover()
    with pytest.raises(CoordinationError, match="max_closed_count=3: would complete a shard that is not read to its"):
        stream.drain(stream.reading(publish), settings=Settings(max_closed_count=3))


@pytest.mark.parametrize("progress", [{"offset": 3}, {"after": ["x", 0]}, {"after": "1"}, [1]])
def test_progress_that_is_no_place(stream: Stream, progress: Any) -> None:
    stream.discover()
    one = stream.coordinator
    lease = one.get_next_partition()
    assert lease is not None
    one.give_up(one.save_progress_state(lease, progress))
    drained = stream.drain(stream.reading(publish))
    assert drained.failed == 1
    assert "is no place in a shard. Close with batches.outcome, or reset the partition" in drained.errors[0][1]


def test_a_partition_that_is_no_shard(stream: Stream) -> None:
    stream.coordinator.create_partitions(["2026-11"])
    drained = stream.drain(stream.reading(publish))
    assert "key='2026-11': is no account:stream:epoch:shard. Make the partitions" in drained.errors[0][1]
