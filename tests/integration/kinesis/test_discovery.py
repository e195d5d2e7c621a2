"""The supplier on real engines, with and without filters of ``ListShards``."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.sources import KinesisShards, SourceError
from airflow_coordination.stores.in_memory import InMemoryStore
from tests.integration.kinesis.stream import MIDDLE, LocalStream

AT_ONCE = timedelta(0)


@pytest.fixture
def c() -> SourceCoordinator:
    return SourceCoordinator(InMemoryStore(), "flights", "me")


def run(c: SourceCoordinator, client: Any, *streams: str, **options: Any) -> None:
    c.run_supplier(KinesisShards(streams=streams, client=client, full_sync_interval=AT_ONCE, **options))


def shards(c: SourceCoordinator) -> dict[str, Any]:
    """Return where each shard starts."""
    return {one.key.rpartition(":")[2]: (one.payload or {})["start"] for one in c.partitions()}


@pytest.mark.parametrize("position", ["TRIM_HORIZON", "LATEST"])
def test_a_new_stream_and_its_reshards(kinesis: Any, stream: LocalStream, c: SourceCoordinator, position: str) -> None:
    first, second = stream.shards()
    run(c, kinesis, stream.name, initial_position=position)
    assert shards(c) == {first: position, second: position}
    stream.split(first, MIDDLE // 2)
    run(c, kinesis, stream.name, initial_position=position)
    assert shards(c).keys() == {first, second}  # the children's turn is when their parent was read
    lease = c.acquire_partition(next(one.key for one in c.partitions() if one.key.endswith(first)))
    assert lease is not None
    c.complete(lease)
    run(c, kinesis, stream.name, initial_position=position)
    assert len(shards(c)) == 4
    assert set(shards(c).values()) == {position, "TRIM_HORIZON"}


def test_latest_on_a_stream_that_was_resharded_before(kinesis: Any, stream: LocalStream, c: SourceCoordinator) -> None:
    first, second = stream.shards()
    stream.merge(first, second)
    run(c, kinesis, stream.name, initial_position="LATEST")
    assert shards(c) == {next(iter(stream.shards().keys() - {first, second})): "LATEST"}


def test_a_stream_that_is_not_there(kinesis: Any, stream: LocalStream, c: SourceCoordinator) -> None:
    with pytest.raises(SourceError, match=r"Cannot list shards: no-such-stream is no stream here"):
        run(c, kinesis, "no-such-stream", stream.name)
    assert len(shards(c)) == 2


def test_a_stream_that_was_deleted_and_made_anew(kinesis: Any, stream: LocalStream, c: SourceCoordinator) -> None:
    run(c, kinesis, stream.name)
    old = {one.key for one in c.partitions()}
    created = stream.summary()["StreamCreationTimestamp"]
    stream.drop()
    while True:  # an epoch is a whole second
        stream.create(1)
        if int(stream.summary()["StreamCreationTimestamp"].timestamp()) > int(created.timestamp()):
            break
        stream.drop()
    run(c, kinesis, stream.name, deferred_stream_deletion=timedelta(hours=1))
    assert old < {one.key for one in c.partitions()}
    run(c, kinesis, stream.name, deferred_stream_deletion=AT_ONCE)
    [left] = c.partitions()
    assert left.key not in old


def test_a_service_that_does_not_answer(c: SourceCoordinator) -> None:
    supplier = KinesisShards(streams=["flights"], endpoint_url="http://127.0.0.1:1", region_name="us-east-1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_MAX_ATTEMPTS", "1")
        patch.setattr("airflow_coordination.systems.kinesis.listing._TRIES", 1)
        with pytest.raises(SourceError, match=r"Cannot list shards: flights answers .*Check its name"):
            c.run_supplier(supplier)
