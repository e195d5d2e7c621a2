"""Copies read by Spark: ``read_completed(tier=…)`` gives what the published place gives, whatever files these are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.outputs.copies.locations import set_locations
from airflow_coordination.planning.copies.work import CopyWork
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.spark import Complete, drain, read_completed
from airflow_coordination.spark.upkeep import copy
from airflow_coordination.systems.objects.storage import OutputError

MONTH = "2013-01/P1M"


def test_a_tier_gives_the_rows_of_the_published_place(spark, store, output_root, tmp_path) -> None:
    """Parquet in partition columns, CSV with a told schema, and Parquet with a column more, of three partitions."""
    ingest = SourceCoordinator(store, "s", "a test")
    ingest.create_partitions(["01", "02", "03"])

    def main(spark: Any, lease: Any) -> Complete:
        key = lease.partition.key
        frame = spark.range(4).selectExpr("id", f"concat('0', id, '-{key}') as text", "cast(id % 2 as int) as part")
        if key == "02":
            with lease.publish("d", format="csv", schema=frame.schema) as block:
                frame.write.options(**block.options).csv(block.path)
        elif key == "01":
            with lease.publish("d", schema=frame.schema) as block:
                frame.write.partitionBy("part").parquet(block.path)
        else:
            with lease.publish("d") as block:
                frame.selectExpr("*", "id * 2 as more").write.parquet(block.path)
        return Complete(interval=f"2013-01-{key}/P1D")

    drained = drain(main, store=store, source="s", spark=spark, output_root=output_root, max_leases=None)
    assert drained.completed == 3, drained.errors
    said = [{"name": "cold", "root": str(tmp_path / "cold"), "tier": "archive", "capacity": "1GB"}]
    set_locations(ingest, json.dumps(said), "a test", "a disk")
    work = CopyWork(location="cold", dataset="d", chunk=parse_interval("chunk", MONTH))
    copies = SourceCoordinator(store, "~copies/s", "a test")
    copies.create_partitions([PartitionIdentifier(work.key, work.to_payload())])
    with pytest.raises(OutputError, match="has no copy of 2013-01-01/2013-01-02"):
        read_completed(spark, store=store, source="s", dataset="d", tier="archive")
    done = drain(copy, store=store, source="~copies/s", spark=None)
    assert done.completed == 1, done.errors

    published = read_completed(spark, store=store, source="s", dataset="d")
    there = read_completed(spark, store=store, source="s", dataset="d", tier="archive", verify="rows")
    assert sorted(there.columns) == sorted(published.columns)
    assert there.schema[there.columns.index("part")].dataType == published.schema["part"].dataType
    columns = sorted(published.columns)
    rows = sorted(map(str, published.select(*columns).collect()))
    assert sorted(map(str, there.select(*columns).collect())) == rows
    assert len(rows) == 12
    assert all(str(tmp_path / "cold") in name for name in there.inputFiles())
