"""Many leases in one Spark job, on the stores of a server: rows exact, one fails alone, one is lost alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from uuid import uuid4

import pytest

from airflow_coordination.leases import PartitionStatus, Settings, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark import Complete, drain, read_completed
from airflow_coordination.stores import open_store
from tests.integration.dynamodb.engine import Engine, patient_client

KEYS = [f"{number:02}" for number in range(12)]


@pytest.fixture
def postgresql(postgres_store_url: str) -> Iterator[PartitionStore]:
    store = open_store(postgres_store_url)
    yield store
    store.close()


@pytest.fixture
def dynamodb(dynamodb_local: str) -> Iterator[PartitionStore]:
    with closing(patient_client(dynamodb_local)) as client:
        engine, table = Engine(dynamodb_local, client), f"test-{uuid4().hex}"
        store = engine.store(table)
        store.setup()
        yield store
        store.close()
        engine.delete(table)


@pytest.fixture(
    params=[
        pytest.param("postgresql", marks=pytest.mark.postgres),
        pytest.param("dynamodb", marks=pytest.mark.dynamodb),
    ]
)
def store(request: pytest.FixtureRequest) -> PartitionStore:
    found: PartitionStore = request.getfixturevalue(request.param)
    return found


def test_each_has_its_rows_and_its_own_ending(spark, store, output_root) -> None:
    days = SourceCoordinator(store, source="days", owner="a person")
    days.create_partitions(KEYS)
    calls = []

    def main(spark, leases):
        calls.append(len(leases))
        rows = spark.createDataFrame([(key, n) for key in leases for n in range(3)], "key string, id long")
        if len(calls) == 1:
            days.people.park("07", by="ana", why="moved")
        if "03" in leases:
            raise ValueError("a poison file")
        leases.publish("rows", rows, by="key")
        return Complete()

    settings = Settings(retry_delay=timedelta(hours=1))
    given = {"store": store, "source": "days", "spark": spark, "output_root": output_root, "settings": settings}
    done = drain(main, together=200, max_leases=None, **given)
    assert (calls[0], sum(call == 1 for call in calls) >= 1) == (12, True)
    assert (done.completed, done.failed, done.lost) == (10, 1, 1)
    assert {key for key, _ in done.errors} == {"03", "07"}
    frame = read_completed(spark, store=store, source="days", dataset="rows")
    assert Counter(row.key for row in frame.collect()) == {key: 3 for key in KEYS if key not in ("03", "07")}
    assert days.partition("03").failures == 1
    assert (days.partition("07").parked, days.partition("07").status) == (True, PartitionStatus.CLOSED)
