"""Compaction planned and merged: parts of a large chunk, other granularities, and what a plan leaves alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.compaction import CompactionConfig, CompactionSlots
from airflow_coordination.duties.compaction.planner import Planner
from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.outputs import collect
from airflow_coordination.outputs.overlays import Overlay, merged_source
from airflow_coordination.outputs.published import read_overlays
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark import Complete, drain, read_completed
from airflow_coordination.spark.upkeep import compact

HOURS = [f"2013-01-{day:02}T{hour:02}" for day in (1, 2) for hour in (0, 6, 12, 18)]


def config(granularity: str, pattern: str = "%Y-%m-%dT%H", **more: Any) -> CompactionConfig:
    said = {"skip_offset_from_latest": "P0D", "interval_from_key": pattern}
    return CompactionConfig("d", granularity=granularity, **said | more)


@pytest.fixture
def publish(spark, store: PartitionStore, output_root: str) -> Callable[[Sequence[str]], None]:
    def publish(keys: Sequence[str]) -> None:
        SourceCoordinator(store, "s", "a test").create_partitions(keys)

        def main(spark, lease):
            with lease.publish("d") as block:
                spark.range(100).selectExpr("id", f"'{lease.partition.key}' as key").write.parquet(block.path)
            return Complete()

        drained = drain(main, store=store, source="s", spark=spark, output_root=output_root, max_leases=None)
        assert drained.errors == ()

    return publish


@pytest.fixture
def compacted(spark, store: PartitionStore, output_root: str) -> Callable[[CompactionConfig], list[Overlay]]:
    """Plan and merge until nothing begins any more; return the overlays that cover something."""

    def compacted(config: CompactionConfig) -> list[Overlay]:
        planner = Planner(SourceCoordinator(store, "s", "a test"), CompactionSlots(max_slots=24))
        source = merged_source("s")
        while planner.run([config]).begun:
            drained = drain(compact, store=store, source=source, spark=spark, output_root=output_root, max_leases=None)
            assert drained.errors == ()
        return [overlay for overlay in read_overlays(store, "s", "d").row if overlay.covers]

    return compacted


@pytest.fixture
def rows(spark, store: PartitionStore) -> Callable[[], list[tuple[Any, ...]]]:
    return lambda: sorted(tuple(row) for row in read_completed(spark, store=store, source="s", dataset="d").collect())


def keys(overlay: Overlay) -> list[str]:
    return [origin.key for origin in overlay.covers]


def originals_go(store: PartitionStore, root: str) -> None:
    for source in ("s", merged_source("s")):
        collect(store, source, root, older_than=timedelta(0), dry_run=False, keep_originals=False)


def test_a_chunk_over_the_limit_is_merged_in_parts_which_keep_what_they_have(
    spark, store, output_root, publish, compacted, rows
) -> None:
    publish(HOURS)
    size = max(head.bytes for head in store.heads("s|PARTITION"))
    parts = config("MONTH", input_bytes=int(size * 3.5), oversize="split")
    overlays = compacted(parts)
    assert [keys(overlay) for overlay in overlays] == [HOURS[:3], HOURS[3:6], HOURS[6:]]
    before = rows()
    originals_go(store, output_root)
    assert rows() == before
    publish(["2013-01-01T03"])
    again = compacted(parts)
    assert [keys(overlay) for overlay in again][:2] == [HOURS[:3], HOURS[3:6]]
    assert [overlay.manifest for overlay in again[:2]] == [overlay.manifest for overlay in overlays[:2]]
    assert "2013-01-01T03" in keys(again[2])
    assert len(rows()) == len(before) + 100


def test_a_chunk_over_the_limit_is_left_when_nothing_else_is_said(store, publish, compacted) -> None:
    publish(HOURS)
    assert compacted(config("MONTH", input_bytes=100)) == []


def test_hours_become_days_and_days_a_month_with_no_original_left(store, output_root, publish, compacted, rows) -> None:
    publish(HOURS)
    before = rows()
    days = compacted(config("DAY"))
    assert [keys(overlay) for overlay in days] == [HOURS[:4], HOURS[4:]]
    originals_go(store, output_root)
    assert rows() == before
    [month] = compacted(config("MONTH"))
    assert keys(month) == HOURS
    originals_go(store, output_root)
    assert rows() == before
    assert [keys(overlay) for overlay in compacted(config("DAY"))] == [HOURS[:4], HOURS[4:]]
    originals_go(store, output_root)
    assert rows() == before


def test_months_are_a_chunk_each_where_days_are_asked_for(publish, compacted, rows) -> None:
    publish(["2013-01", "2013-02"])
    before = rows()
    months = compacted(config("DAY", "%Y-%m"))
    assert [keys(overlay) for overlay in months] == [["2013-01"], ["2013-02"]]
    assert rows() == before


def test_the_seeds_foo_and_bar_are_merged_newest_first_and_what_is_compacted_is_left(spark, store, output_root) -> None:
    """The example of Druid's page on the Coordinator, with two slots: segments are partitions with that interval."""
    chunks = {"foo": ("2017-11", "2017-11", "2017-09"), "bar": ("2017-10", "2017-10")}
    partitions = [
        PartitionIdentifier(f"{name} {month} {number}", {"dataset": name, "interval": f"{month}-01/P1M"})
        for name, months in chunks.items()
        for number, month in enumerate(months)
    ]
    ingest = SourceCoordinator(store, "s", "a test")
    ingest.create_partitions(partitions)

    def main(spark, lease):
        with lease.publish(lease.partition.payload["dataset"]) as block:
            spark.range(10).selectExpr("id", f"'{lease.partition.key}' as key").write.parquet(block.path)
        return Complete()

    options = {"store": store, "spark": spark, "output_root": output_root, "max_leases": None}
    assert drain(main, source="s", **options).errors == ()
    before = {name: read_completed(spark, store=store, source="s", dataset=name).count() for name in chunks}
    configs = [CompactionConfig(name, skip_offset_from_latest="P0D") for name in chunks]
    planner = Planner(ingest, CompactionSlots(max_slots=2, capacity=20, ratio=1.0))
    first = planner.run(configs).begun
    assert [key.split("|")[1:3] for key in first] == [["foo", "2017-11-01T00:00:00Z"], ["bar", "2017-10-01T00:00:00Z"]]
    merged = drain(compact, source=merged_source("s"), **options)
    assert (merged.keys, merged.errors) == (tuple(first), ())
    [second] = planner.run(configs).begun
    assert second.split("|")[1:3] == ["foo", "2017-09-01T00:00:00Z"]
    assert drain(compact, source=merged_source("s"), **options).errors == ()
    assert planner.run(configs).begun == ()
    found = {name: [keys(overlay) for overlay in read_overlays(store, "s", name).row] for name in chunks}
    assert found == {
        "foo": [["foo 2017-09 2"], ["foo 2017-11 0", "foo 2017-11 1"]],
        "bar": [["bar 2017-10 0", "bar 2017-10 1"]],
    }
    assert {name: read_completed(spark, store=store, source="s", dataset=name).count() for name in chunks} == before
