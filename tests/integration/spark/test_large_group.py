"""A group of thousands of files is one partition, and each of its rows is published once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_coordination import Complete, drain
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.sources import object_listing, object_paths, spark_paths
from airflow_coordination.spark import read_completed
from tests.integration.spark.one_partition import FAST

FILES = 5_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "in [1]"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number:05}.csv").write_text(f"{number},{number % 7}\n")
    return folder


def amounts(spark: Any, lease: Any) -> Complete:
    rows = spark.read.schema("id long, amount long").csv(spark_paths(lease.partition.payload))
    with lease.publish("amounts") as block:
        rows.coalesce(1).write.parquet(block.path)
    return Complete()


def test_five_thousand_files_are_one_partition_and_read_once(
    spark: Any, store: PartitionStore, output_root: str, folder: Path
) -> None:
    listing = object_listing(folder, scan="once", max_objects=FILES, output_root=output_root)
    how: dict[str, Any] = {"store": store, "source": "s", "spark": spark, "output_root": output_root, "settings": FAST}
    done = drain(amounts, **how, max_leases=None, supplier=listing)
    assert (done.completed, done.failed) == (1, 0)
    rows = read_completed(spark, store=store, source="s", dataset="amounts").orderBy("id").collect()
    assert [tuple(row) for row in rows] == [(number, number % 7) for number in range(FILES)]
    [partition] = SourceCoordinator(store, "s", "me").partitions()
    assert len(object_paths(partition.payload)) == partition.payload["names_file"]["count"] == FILES


def test_a_file_of_names_that_is_missing_fails_the_partition_and_nothing_is_lost(
    spark: Any, store: PartitionStore, output_root: str, folder: Path
) -> None:
    """When it is back the partition goes on as if nothing had been."""
    one = SourceCoordinator(store, "s", "me", settings=FAST)
    one.run_supplier(object_listing(folder, scan="once", max_objects=FILES, output_root=output_root))
    [file] = Path(output_root).rglob("_names/*/*.json")
    content = file.read_bytes()
    how: dict[str, Any] = {"store": store, "source": "s", "spark": spark, "output_root": output_root, "settings": FAST}
    for broken in (None, content.replace(b"00007", b"00008")):
        file.unlink() if broken is None else file.write_bytes(broken)
        assert drain(amounts, **how).failed == 1
        [partition] = one.partitions()
        assert partition.last_error is not None
        assert str(file) in partition.last_error
        assert "Put that file back as it was" in partition.last_error
        one.people.reset(partition.key, by="ana", why="test")
    file.write_bytes(content)
    assert drain(amounts, **how).completed == 1
    assert read_completed(spark, store=store, source="s", dataset="amounts").count() == FILES
