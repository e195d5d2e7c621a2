"""The example job that reads streams: every order once, over a reshard, and again only behind the last place."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from airflow_coordination import spark as spark_room
from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.sources import KinesisShards
from airflow_coordination.spark import drain, read_completed
from airflow_coordination.stores import open_store
from tests.engines.kinesis import connected
from tests.house.tree import ROOT
from tests.integration.kinesis.stream import MIDDLE, LocalStream

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(400)]


@pytest.fixture
def kinesis(kinesis_local: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client. The job is told of the engine: the session's executors have begun with another environment."""
    secret = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
    told = partial(spark_room.shard, client_options={"endpoint_url": kinesis_local, **secret})
    monkeypatch.setattr(spark_room, "shard", told, raising=False)
    with connected(kinesis_local) as client:
        yield client


def order(stream: LocalStream, numbers: range) -> None:
    for number in numbers:
        stream.put(json.dumps({"id": number, "amount": number / 4}).encode(), hash_key=MIDDLE * (number % 2))


def test_every_order_is_published_once(kinesis: Any, spark: Any, tmp_path: Any) -> None:
    job = runpy.run_path(str(ROOT / "dags" / "orders_job.py"))["main"]
    store = open_store("memory://")
    one = SourceCoordinator(store, "orders", "me")

    def read(supplier: KinesisShards) -> None:
        drain(
            job,
            store=store,
            source="orders",
            spark=spark,
            output_root=tmp_path / "out",
            max_leases=None,
            supplier=supplier,
        )

    with LocalStream.new(kinesis, 1) as orders, LocalStream.new(kinesis, 1) as returns:
        supplier = KinesisShards(streams=[orders.name, returns.name], client=kinesis)
        order(orders, range(20))
        order(returns, range(100, 110))
        read(supplier)
        [shard] = orders.shards()
        orders.split(shard, MIDDLE)
        order(orders, range(20, 40))
        for closed in one.partitions(PartitionStatus.CLOSED):
            one.people.reopen(closed.key, by="ana", why="a minute is long")
        read(supplier)
    rows = read_completed(spark, store=store, source="orders", dataset="orders").collect()
    assert sorted(row.id for row in rows) == [*range(40), *range(100, 110)]
    assert {row.amount for row in rows if row.id == 5} == {1.25}
    assert len({(row.streamName, row.shardId) for row in rows}) == 4
    assert one.counts()[PartitionStatus.COMPLETED] == 1
