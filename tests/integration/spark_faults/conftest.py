"""A store, a task that starts drivers, and one Spark session that plays the second driver."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_coordination.protocol.port import PartitionStore
from tests.integration.spark.conftest import output_root, spark, store, store_url
from tests.integration.spark.drivers import Task
from tests.integration.spark_faults.processes import kill_session

__all__ = ["output_root", "spark", "store", "store_url"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/integration/spark_faults/"):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture
def task(store: PartitionStore, store_url: str, output_root: str, tmp_path: Path) -> Iterator[Task]:
    signs = tmp_path / "signs"
    signs.mkdir()
    task = Task(store, store_url, output_root, signs)
    yield task
    for driver in task.started:
        kill_session(driver.process.pid)
        driver.process.wait()
