"""Compaction in Spark: the rows of each partition stay what it has published, at every moment."""

from __future__ import annotations

import signal
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.compaction import CompactionConfig
from airflow_coordination.duties.compaction.revoking import release_groups
from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.outputs import collect, published_manifests
from airflow_coordination.outputs.merging import group_key
from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.outputs.published import read_overlays
from airflow_coordination.planning.compaction.groups import GroupWork
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.planning.view import changing
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark import Complete, count_completed, drain, read_completed
from airflow_coordination.spark.file_scans import quoted
from airflow_coordination.spark.upkeep import compact
from airflow_coordination.values.times import EPOCH
from tests.integration.spark.drivers import OWNER, Task

DAYS = [f"2013-01-{day:02}" for day in range(1, 7)]
CONFIG = CompactionConfig("d", granularity="MONTH", interval_from_key="%Y-%m-%d")
Publish = Callable[..., None]


@pytest.fixture
def publish(spark, store: PartitionStore, output_root: str) -> Publish:
    """Create a partition, or reset it, and let a function publish it."""

    def publish(key: str, frame: Any, mode: str = "replace", write: Any = None, **how: Any) -> None:
        ingest = SourceCoordinator(store, "s", "a test")
        if ingest.create_partitions([key]).existing:
            ingest.people.reset(key, by="a test", why="again")

        def main(spark, lease):
            with lease.publish("d", mode, **how) as block:
                (write or (lambda frame, block: frame.write.parquet(block.path)))(frame, block)
            return Complete()

        drained = drain(main, store=store, source="s", spark=spark, output_root=output_root)
        assert drained.completed == 1, drained.errors

    return publish


@pytest.fixture
def compacted(spark, store: PartitionStore, output_root: str) -> Callable[..., Any]:
    """Let a group run, as a planner does."""

    def compacted(config: CompactionConfig = CONFIG, epoch: int = 1, current: int = 1) -> Any:
        planned(store, config, epoch, current)
        return drain(compact, store=store, source=merged_source("s"), spark=spark, output_root=output_root)

    return compacted


@pytest.fixture
def rows(spark, store: PartitionStore) -> Callable[[], list[tuple[Any, ...]]]:
    def rows() -> list[tuple[Any, ...]]:
        frame = read_completed(spark, store=store, source="s", dataset="d")
        found = sorted((tuple(row) for row in frame.select(*map(quoted, sorted(frame.columns))).collect()), key=repr)
        assert count_completed(store=store, source="s", dataset="d") == len(found)
        return found

    return rows


def planned(store: PartitionStore, config: CompactionConfig = CONFIG, epoch: int = 1, current: int = 1) -> None:
    """Make a group claimable."""
    chunk = parse_interval("chunk", "2013-01-01/P1M")
    work = GroupWork(config=config, chunk=chunk, epoch=epoch, current_epoch=current)
    groups = SourceCoordinator(store, merged_source("s"), "a test")
    key = group_key(epoch, "d", str(chunk).partition("/")[0], 0)
    partition = PartitionIdentifier(key, work.to_payload())
    if groups.create_partitions([partition]).existing:
        groups.people.reset(key, by="a test", why="new blocks")
        groups.create_partitions([partition])


def forget_originals(store: PartitionStore) -> None:
    """Delete the files of everything that readers do not follow."""
    followed = {manifest.directory for manifest in published_manifests(store, "s", "d")}
    followed |= {overlay.manifest.directory for overlay in read_overlays(store, "s", "d").row}
    root = next(iter(followed)).partition("/_attempts/")[0]
    for manifest in Path(root).rglob("_manifest.json"):
        if str(manifest.parent) not in followed:
            for file in manifest.parent.rglob("*"):
                file.is_dir() or file.unlink()


def files(store: PartitionStore) -> int:
    return sum(len(manifest.files) for manifest in published_manifests(store, "s", "d"))


def test_s21_many_files_become_one_and_the_rows_stay(spark, store, publish, compacted, rows) -> None:
    for number, day in enumerate(DAYS):
        publish(day, spark.range(10 * number, 10 * number + 10).selectExpr("id", f"'{day}' as day").repartition(2))
    before = rows()
    assert (len(before), files(store)) == (60, 12)
    assert compacted().errors == ()
    assert files(store) == 1
    assert rows() == before
    forget_originals(store)
    assert rows() == before


def test_s21_beside_ingest_each_partition_has_its_own_rows(spark, store, publish, compacted, rows) -> None:
    for number, day in enumerate(DAYS):
        publish(day, spark.range(number, number + 1))
    compacted()
    publish(DAYS[0], spark.range(100, 102))
    publish(DAYS[1], spark.range(200, 201), "append")
    SourceCoordinator(store, "s", "a test").people.retract(DAYS[2], by="a test", why="wrong")
    publish("2013-01-20", spark.range(300, 301))
    expected = [(number,) for number in (1, 100, 101, 200, 3, 300, 4, 5)]
    forget_originals(store)
    assert rows() == sorted(expected, key=repr)
    assert compacted().errors == ()
    assert files(store) == 1
    forget_originals(store)
    assert rows() == sorted(expected, key=repr)


def test_a_group_that_has_nothing_to_do_completes_and_publishes_nothing(spark, store, publish, compacted) -> None:
    publish(DAYS[0], spark.range(1))
    compacted()
    [before] = store.heads("~merged/s|PARTITION")
    assert compacted().completed == 1
    assert store.heads("~merged/s|PARTITION") == [before]


def test_schemas_that_differ_in_width_are_merged_and_columns_of_some_are_null(
    spark, store, publish, compacted, rows
) -> None:
    publish(DAYS[0], spark.sql("select 1 as id, 1.5F as x"))
    publish(DAYS[1], spark.sql("select 2L as id, 2.5D as x, map('a', 1) as late, named_struct('n', null, 'm', 1) as s"))
    publish(DAYS[2], spark.sql("select 3 as id, cast(null as string) as nothing"))
    before = rows()
    assert compacted().errors == ()
    assert rows() == before
    forget_originals(store)
    assert rows() == before


def test_partition_columns_and_text_are_merged_where_their_types_were_told(spark, publish, compacted, rows) -> None:
    frame = spark.sql("select 1 as id, '01' as name, date'2013-01-01' as at, ' a' as text")
    by_name = frame.unionAll(frame.selectExpr("2", "null", "at", "text"))
    publish(DAYS[0], by_name, write=lambda f, b: f.write.partitionBy("name", "at").parquet(b.path), schema=frame.schema)
    publish(
        DAYS[1],
        frame,
        write=lambda f, b: f.write.options(**b.options).csv(b.path),
        format="csv",
        schema=frame.schema,
    )
    before = rows()
    assert compacted().errors == ()
    assert rows() == before


def test_what_would_have_to_be_guessed_is_left_with_the_reason(spark, publish, compacted, rows) -> None:
    publish(DAYS[0], spark.range(1), write=lambda f, b: f.write.json(b.path), format="json")
    before = rows()
    [(_, error)] = compacted().errors
    assert "incompatible schemas: has files of format json, of which nobody has told the types" in error
    assert rows() == before


def test_columns_of_other_types_are_left_with_the_reason(spark, publish, compacted) -> None:
    publish(DAYS[0], spark.sql("select 1 as id"))
    publish(DAYS[1], spark.sql("select 'x' as id"), allow_lossy=True)
    [(_, error)] = compacted().errors
    assert "incompatible schemas: does not fit: column 'id' is " in error


def test_a_column_of_the_origins_name_is_no_trouble(spark, store, publish, compacted, rows) -> None:
    publish(DAYS[0], spark.sql("select 1 as _origin, 2 as `_origin0_`, 3 as `a.b``c`"))
    publish(DAYS[1], spark.sql("select 4 as _origin, 5 as `_origin0_`, 6 as `a.b``c`"))
    before = rows()
    assert compacted().errors == ()
    forget_originals(store)
    assert rows() == before == [(1, 2, 3), (4, 5, 6)]


def test_s21_rows_that_keep_where_they_are_from_stay(spark, store, publish, compacted, rows) -> None:
    """A column ``_metadata`` is read before Spark's own; by that no row would have an origin."""
    source = spark.range(2).selectExpr("id", "named_struct('file_path', concat('s3://b/', id)) as _metadata")
    publish(DAYS[0], source)
    publish(DAYS[1], spark.sql("select 7L as id, named_struct('file_path', 's3://b/7') as _metadata"))
    before = rows()
    assert compacted().errors == ()
    assert files(store) == 1
    assert rows() == before


def test_s21_rows_without_an_origin_are_refused(spark, store, publish, compacted, rows, monkeypatch) -> None:
    publish(DAYS[0], spark.range(2))
    before = rows()
    monkeypatch.setattr("airflow_coordination.spark.file_scans._PLACE", "/nowhere/(x)/")
    [(_, error)] = compacted().errors
    assert "checksum differs: 0 row(s) were read, and 2 were published" in error
    assert rows() == before


def test_a_partition_columns_type_stays_where_a_part_of_it_is_merged(spark, store, publish, compacted, rows) -> None:
    frame = spark.sql("select 1L as id, 5L as n")
    publish(DAYS[0], frame, write=lambda f, b: f.write.partitionBy("n").parquet(b.path), schema=frame.schema)
    publish(
        "other", frame.selectExpr("2L as id", "6L as n"), write=lambda f, b: f.write.partitionBy("n").parquet(b.path)
    )
    before = rows()
    assert compacted().errors == ()
    assert rows() == before == [(1, 5), (2, 6)]


def test_many_origins_that_nobody_meets_are_left_out(spark, store, publish, compacted, rows, monkeypatch) -> None:
    monkeypatch.setattr("airflow_coordination.spark.file_scans._MOST_RANGES", 1)
    for number, day in enumerate(DAYS):
        publish(day, spark.range(number, number + 1))
    compacted()
    for day in (DAYS[1], DAYS[3]):
        SourceCoordinator(store, "s", "a test").people.retract(day, by="a test", why="wrong")
    assert rows() == [(0,), (2,), (4,), (5,)]
    assert compacted().errors == ()
    assert rows() == [(0,), (2,), (4,), (5,)]


@pytest.mark.parametrize("name", ["o[1] {a,b}*?", "a=b%3D+c d"])
def test_an_output_root_may_have_any_name(spark, store, tmp_path, name: str) -> None:
    root = str(tmp_path / name)
    SourceCoordinator(store, "s", "a test").create_partitions(DAYS[:2])

    def main(spark, lease):
        with lease.publish("d") as block:
            spark.range(3).write.parquet(block.path)
        return Complete()

    assert drain(main, store=store, source="s", spark=spark, output_root=root, max_leases=None).errors == ()
    planned(store)
    assert drain(compact, store=store, source=merged_source("s"), spark=spark, output_root=root).errors == ()
    assert files(store) == 1
    assert read_completed(spark, store=store, source="s", dataset="d").count() == 6


def test_columns_that_differ_by_case_only_are_left_with_the_reason(spark, publish, compacted) -> None:
    publish(DAYS[0], spark.sql("select 1 as v"))
    publish(DAYS[1], spark.sql("select 2 as V"))
    [(_, error)] = compacted().errors
    assert "incompatible schemas: has 'V' beside 'v', which differ by case only" in error


def test_variants_are_merged(spark, store, publish, compacted) -> None:
    publish(DAYS[0], spark.sql("""select parse_json('{"a": 1}') as v"""))
    publish(DAYS[1], spark.sql("""select parse_json('[2]') as v"""))
    assert compacted().errors == ()
    assert files(store) == 1


def test_blocks_without_rows_are_merged_too(spark, store, publish, compacted, rows) -> None:
    publish(DAYS[0], spark.range(0))
    publish(DAYS[1], spark.range(1))
    assert compacted().errors == ()
    assert rows() == [(0,)]
    assert files(store) == 1


def test_when_everything_is_taken_back_the_overlay_is_empty(spark, store, publish, compacted) -> None:
    publish(DAYS[0], spark.range(1))
    compacted()
    SourceCoordinator(store, "s", "a test").people.retract(DAYS[0], by="a test", why="wrong")
    assert compacted().errors == ()
    assert files(store) == 0
    [head] = store.heads("~merged/s|PARTITION")
    assert head.rows == 0


def test_files_have_the_size_the_order_and_the_codec_that_were_asked_for(spark, store, publish, compacted) -> None:
    for day in DAYS:
        publish(day, spark.range(1000).selectExpr("id", "hash(id) as h"))
    size = sum(head.bytes for head in store.heads("s|PARTITION"))
    config = CompactionConfig(
        "d",
        granularity="MONTH",
        interval_from_key="%Y-%m-%d",
        target_file_size=size // 3,
        compression="zstd",
        sort_by=["h"],
    )
    assert compacted(config).errors == ()
    [manifest] = published_manifests(store, "s", "d")
    assert 3 <= len(manifest.files) <= 4
    assert all(".zstd." in file.path for file in manifest.files)
    for file in manifest.files:
        values = [row[0] for row in spark.read.parquet(f"{manifest.directory}/{file.path}").select("h").collect()]
        assert values == sorted(values)


def test_a_group_of_an_old_epoch_gives_up_when_later_ones_have_everything(
    spark, store, publish, compacted, rows
) -> None:
    for number, day in enumerate(DAYS):
        publish(day, spark.range(number, number + 1))
    compacted()
    assert compacted(current=2).errors == ()
    assert [head.rows for head in store.heads("~merged/s|PARTITION")] == [6]
    assert compacted(epoch=2, current=2).errors == ()
    assert compacted(epoch=1, current=2).errors == ()
    assert [head.rows for head in store.heads("~merged/s|PARTITION")] == [0, 6]
    forget_originals(store)
    assert rows() == [(number,) for number in range(6)]


def test_a_payload_that_is_none_fails_and_says_how_groups_are_made(spark, store, output_root) -> None:
    SourceCoordinator(store, merged_source("s"), "a test").create_partitions(["by hand"])
    drained = drain(compact, store=store, source=merged_source("s"), spark=spark, output_root=output_root)
    [(_, error)] = drained.errors
    assert "payload" in error
    assert "`compaction plan`" in error


@pytest.mark.parametrize("step", ["read", "written", "checked"])
def test_s21_of_two_drivers_of_a_group_the_stopped_one_changes_nothing(
    spark, store, store_url, publish, compacted, rows, task: Task, output_root, step: str
) -> None:
    for number, day in enumerate(DAYS[:3]):
        publish(day, spark.range(10 * number, 10 * number + 10))
    planned(store)
    groups = SourceCoordinator(store, merged_source("s"), OWNER, ownership_timeout=timedelta(minutes=5))
    lease = groups.get_next_partition()
    assert lease is not None
    (task.signs / f"{step}.hold").touch()
    first = task.start("upkeep_in_steps.py", lease, source=merged_source("s"))
    first.reached(step)
    first.stop_between_writes(store_url)
    try:
        publish(DAYS[1], spark.range(100, 101), "append")
        before = rows()
        assert len(before) == 31
        groups.people.release(lease.key, by="a test", why="its driver sleeps")
        second = drain(compact, store=store, source=merged_source("s"), spark=spark, output_root=output_root)
        assert second.completed == 1, second.errors
        assert rows() == before
    finally:
        (task.signs / f"{step}.hold").unlink()
        first.send(signal.SIGCONT)
    assert first.wait() == 3, first.text()
    assert rows() == before
    [overlay] = read_overlays(store, "s", "d").row
    assert len(overlay.covers) == 3
    collected = collect(store, merged_source("s"), output_root, older_than=timedelta(0), dry_run=False)
    # Stopped after reading, it may have written before it heard that its lease is gone: whatever that was is gone.
    assert collected.blocks == 1 or (step == "read" and collected.blocks == 0)
    group = Path(overlay.manifest.directory).parents[1]
    assert [str(block) for block in group.glob("_attempt=*/_block=*")] == [overlay.manifest.directory]
    assert rows() == before


def test_the_driver_of_a_group_that_a_branch_revokes_stops_soon(
    spark, store, publish, task: Task, rows, output_root
) -> None:
    """Its lease would be renewed every 12 minutes."""
    publish(DAYS[0], spark.range(10))
    planned(store)
    groups = SourceCoordinator(store, merged_source("s"), OWNER, ownership_timeout=timedelta(hours=2))
    lease = groups.get_next_partition()
    (task.signs / "read.hold").touch()
    driver = task.start("upkeep_in_steps.py", lease, source=merged_source("s"))
    driver.reached("read")
    ingest = SourceCoordinator(store, "s", "a test")
    month = parse_interval("interval", "2013-01/P1M")
    assert release_groups(ingest, month, 1, "ana") == [lease.key]
    assert driver.wait() == 3, driver.text()
    again = groups.get_next_partition()
    assert again.key == lease.key
    groups.give_up(again)
    begun = partial(changing.begun, selection={}, interval=month, by="ana", why="why", now=EPOCH)
    ingest.documents.change_view(lambda view: begun(view)[0], "ana", "why")
    drained = drain(compact, store=store, source=merged_source("s"), spark=spark, output_root=output_root)
    assert (drained.completed, drained.given_up) == (0, 1)
    assert groups.partition(lease.key).available_at > store.now(), "it looks again in some minutes"
    assert len(rows()) == 10
