"""Compaction by its duty, in the group that Druid's page makes for it, on real files and Spark."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from airflow_coordination.duties.compaction.configured import set_compaction
from airflow_coordination.duties.configuring import set_config
from airflow_coordination.duties.groups.registry import configured, named, resolved
from airflow_coordination.duties.groups.running import GroupRun, GroupRunner
from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.outputs.published import read_overlays
from airflow_coordination.spark import Complete, drain, read_completed
from airflow_coordination.spark.upkeep import compact
from airflow_coordination.values.status import PartitionStatus

SEED = """\
druid.service=druid/coordinator
druid.coordinator.startDelay=PT0S
druid.coordinator.dutyGroups=["compaction"]
druid.coordinator.compaction.duties=["compactSegments"]
druid.coordinator.compaction.period=PT10M
"""
"""The three lines of Druid's page on the Coordinator, in its own file."""
CHUNKS = {"foo": ("2017-11", "2017-11", "2017-09"), "bar": ("2017-10", "2017-10")}


def test_the_seeds_foo_and_bar_go_through_the_duty_in_a_group_of_its_own(spark, store, output_root, tmp_path) -> None:
    """Two sources here, one limit and one order: the newest first, whichever it is of."""
    options = {"store": store, "spark": spark, "output_root": output_root, "max_leases": None}
    for name, months in CHUNKS.items():
        ingest = SourceCoordinator(store, name, "a test")
        ingest.supplying.register_dag("ingest")
        ingest.create_partitions(
            PartitionIdentifier(f"{month} {number}", {"interval": f"{month}-01/P1M"})
            for number, month in enumerate(months)
        )

        def main(spark, lease, name=name):
            with lease.publish(name) as block:
                spark.range(10).selectExpr("id", f"'{lease.partition.key}' as key").write.parquet(block.path)
            return Complete()

        assert drain(main, source=name, **options).errors == ()
        set_compaction(ingest, name, '{"skipOffsetFromLatest": "P0D"}', "ana", "small files")
    before = {name: _rows(spark, store, name) for name in CHUNKS}
    properties = tmp_path / "runtime.properties"
    properties.write_text(SEED)
    run = _group(properties, store)

    set_config(ingest, {"maxCompactionTaskSlots": 2}, "ana", "two at once")
    assert run().state.of("compactSegments").counts["compact/task/count"] == 2
    assert _claimable(store) == {"foo": ["2017-11"], "bar": ["2017-10"]}
    _merge(options)
    assert run().state.of("compactSegments").counts["compact/task/count"] == 1
    assert _claimable(store) == {"foo": ["2017-09"], "bar": []}
    _merge(options)
    assert run().state.of("compactSegments").idle
    found = {name: [_keys(overlay) for overlay in read_overlays(store, name, name).row] for name in CHUNKS}
    assert found == {"foo": [["2017-09 2"], ["2017-11 0", "2017-11 1"]], "bar": [["2017-10 0", "2017-10 1"]]}
    assert {name: _rows(spark, store, name) for name in CHUNKS} == before


def _group(properties: Path, store):
    duties = configured(properties)
    assert "compactSegments" not in named(duties, "IndexingServiceDuties").duties, "it has left the default group"
    assert any("compactSegments runs in group compaction" in note for note in duties.notes)
    runner, group = GroupRunner(store, "a test", start_delay=duties.start_delay), named(duties, "compaction")
    assert group.period == timedelta(minutes=10)

    def run() -> GroupRun:
        if group.name in runner.states():
            runner.run_now(group.name, "ana", "the next run")
        found = runner.run(resolved(group))
        assert found.ran
        return found

    return run


def _merge(options) -> None:
    for name in CHUNKS:
        assert drain(compact, source=merged_source(name), **options).errors == ()


def _claimable(store) -> dict[str, list[str]]:
    found = {}
    for name in CHUNKS:
        groups = SourceCoordinator(store, merged_source(name), "a test").looking.each()
        found[name] = [each.key.split("|")[2][:7] for each in groups if each.status is PartitionStatus.UNASSIGNED]
    return found


def _keys(overlay) -> list[str]:
    return sorted({origin.key for origin in overlay.covers})


def _rows(spark, store, name: str) -> int:
    return read_completed(spark, store=store, source=name, dataset=name).count()
