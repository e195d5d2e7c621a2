"""One Spark session for all these tests, and a store per test."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from tests.integration.spark.drivers import SMALL, Task, connector


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/integration/spark/"):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.timeout(400))


@pytest.fixture(scope="session")
def spark():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config(map=SMALL)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in connector().items():
            patch.setenv(name, value)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/coordination.db"


@pytest.fixture
def store(store_url: str) -> Iterator[PartitionStore]:
    store = open_store(store_url)
    store.setup()
    yield store
    store.close()


@pytest.fixture
def output_root(tmp_path: Path) -> str:
    return str(tmp_path / "out")


@pytest.fixture
def task(store: PartitionStore, store_url: str, output_root: str, tmp_path: Path) -> Iterator[Task]:
    signs = tmp_path / "signs"
    signs.mkdir()
    task = Task(store, store_url, output_root, signs)
    yield task
    for driver in task.started:
        if driver.process.poll() is None:
            driver.send(signal.SIGCONT)
            driver.send(signal.SIGKILL)
            driver.process.wait()
