"""``read_completed(…, where=…)`` returns what the same reader returns with Spark's own where, of fewer files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_coordination.leases import InvalidInputError, SourceCoordinator
from airflow_coordination.outputs import OutputError, index, index_outputs
from airflow_coordination.outputs.index import LEAST
from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark import Complete, FilesRead, drain, explain_completed, read_completed
from airflow_coordination.spark.upkeep import compact
from tests.integration.spark.test_upkeep import planned

FIRST = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
KEYS = [f"k{number:03}" for number in range(LEAST + 2)]
PLAIN = len(KEYS) - 2
TYPES = "id long, name string, day date, at timestamp, delay double"


def table(number: int) -> pa.Table:
    """A file of two rows, whose values rise with its number."""
    moment = FIRST + dt.timedelta(hours=number)
    columns: dict[str, Any] = {
        "id": pa.array([2 * number, 2 * number + 1], pa.int64()),
        "name": [f"n{number:03}", None],
        "day": pa.array([moment.date(), moment.date()]),
        "at": pa.array([moment, moment + dt.timedelta(microseconds=1)], pa.timestamp("us", "UTC")),
        "delay": [float(number), float("nan")],
    }
    return pa.table(columns)


@pytest.fixture
def published(spark: Any, store: PartitionStore, output_root: str) -> PartitionStore:
    """Partitions of a file each; of the last two one has a column more, and one is written by Spark."""

    def main(_: Any, lease: Any) -> Complete:
        number = KEYS.index(lease.partition.key)
        with lease.publish("d") as block:
            Path(block.path).mkdir(parents=True)
            written = table(number)
            if number == PLAIN:
                written = written.append_column("more", pa.array(["m", "m"]))
            if number > PLAIN:
                rows = [tuple(row.values()) for row in written.to_pylist()]
                spark.createDataFrame(rows, TYPES).coalesce(1).write.mode("append").parquet(block.path)
            else:
                pq.write_table(written, Path(block.path, "part-0.parquet"))
        return Complete()

    SourceCoordinator(store, source="s", owner="a test").create_partitions(KEYS)
    done = drain(main, store=store, source="s", spark=spark, output_root=output_root, max_leases=None)
    assert done.completed == len(KEYS), done.errors
    index_outputs(store, "s", "d")
    return store


@pytest.fixture
def read(spark: Any, published: PartitionStore) -> Callable[..., Any]:
    return lambda **how: read_completed(spark, store=published, source="s", dataset="d", **how)


def explained(store: PartitionStore, where: Any) -> FilesRead:
    return explain_completed(store=store, source="s", dataset="d", where=where)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.drop("delay").collect()), key=repr)


def test_rows_and_columns_are_those_of_a_filter_over_all(published: PartitionStore, read: Callable[..., Any]) -> None:
    """Whole numbers, texts, days and instants, open at either end; null matches nothing."""
    moment = FIRST + dt.timedelta(hours=7)
    tokyo = dt.timezone(dt.timedelta(hours=9))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"id": (14, 14)}, "id = 14"),
        ({"id": (None, 3)}, "id <= 3"),
        ({"id": (200, None)}, "id >= 200"),
        ({"id": (-5, -1)}, "id < 0"),
        ({"name": ("n007", "n009")}, "name between 'n007' and 'n009'"),
        ({"name": (None, "n002")}, "name <= 'n002'"),
        ({"day": (dt.date(2026, 1, 2), dt.date(2026, 1, 2))}, "day = date'2026-01-02'"),
        ({"at": (moment, moment)}, "at = timestamp'2026-01-01 07:00:00 UTC'"),
        ({"at": (moment.astimezone(tokyo), None)}, "at >= timestamp'2026-01-01 07:00:00 UTC'"),
        ({"id": (10, 30), "name": ("n006", None)}, "id between 10 and 30 and name >= 'n006'"),
        ({"more": ("m", "m")}, "more = 'm'"),
    ]
    everything = read()
    for where, condition in cases:
        found = read(where=where)
        assert found.schema == everything.schema, where
        assert rows(found) == rows(everything.where(condition)), where
    assert explained(published, {"id": (14, 14)}).left_out >= PLAIN - 2
    assert explained(published, {"name": ("n007", "n009")}).read <= 3 + 2
    assert explained(published, {"day": (dt.date(2026, 1, 2), dt.date(2026, 1, 2))}).read <= 24 + 2
    assert explained(published, {"at": (moment, moment)}).read <= 1 + 2


def test_files_that_are_left_out_are_not_looked_for(read: Callable[..., Any], output_root: str) -> None:
    assert len(read(where={"id": (20, 21)}).inputFiles()) == 2, "the one, and the one with another column"
    [gone] = Path(output_root).rglob("*-k009/**/part-0.parquet")
    gone.unlink()
    assert rows(read(where={"id": (20, 21)}))
    with pytest.raises(OutputError, match="is missing"):
        read(where={"id": (18, 21)})
    with pytest.raises(OutputError, match="is missing"):
        read()


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ({"none": (1, 2)}, "is no column of the dataset"),
        ({"ID": (1, 2)}, "is no column of the dataset"),
        ({"id": ("1", "2")}, "is of type bigint"),
        ({"delay": (1, 2)}, "is of type double"),
        ({"day": (FIRST, None)}, "is of type date"),
        ({"at": (FIRST.date(), None)}, "is of type timestamp"),
    ],
)
def test_other_columns_and_types_are_refused(read: Callable[..., Any], where: Any, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem) as error:
        read(where=where)
    assert error.value.field == f"where[{next(iter(where))!r}]"


@pytest.fixture
def publish(
    spark: Any, store: PartitionStore, output_root: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Callable[..., Any]]:
    """Publish what functions write, a partition each, index it, and return a reader."""
    monkeypatch.setattr(index, "LEAST", 1)

    def publish(*writers: Callable[[str], object]) -> Callable[..., Any]:
        def main(_: Any, lease: Any) -> Complete:
            with lease.publish("d", allow_lossy=True) as block:
                writers[int(lease.partition.key[-2:]) - 1](block.path)
            return Complete()

        days = [f"2013-01-{number:02}" for number in range(1, len(writers) + 1)]
        SourceCoordinator(store, source="s", owner="a test").create_partitions(days)
        done = drain(main, store=store, source="s", spark=spark, output_root=output_root, max_leases=None)
        assert done.completed == len(writers), done.errors
        index_outputs(store, "s", "d")
        return lambda **how: read_completed(spark, store=store, source="s", dataset="d", **how)

    return publish


def file_of(**columns: Any) -> Callable[[str], object]:
    def write(path: str) -> None:
        Path(path).mkdir(parents=True)
        pq.write_table(pa.table(columns), Path(path, "part-0.parquet"))

    return write


def test_a_partition_column_is_compared_and_leaves_nothing_out_by_files(
    spark: Any, publish: Callable, store: PartitionStore
) -> None:
    """What is in a directory's name counts, whatever a column of that name in the file says."""

    def hidden(path: str) -> None:
        Path(path, "n=100").mkdir(parents=True)
        pq.write_table(pa.table({"id": [7], "n": [1]}), Path(path, "n=100", "part-0.parquet"))

    def written(path: str) -> None:
        spark.createDataFrame([(1, 5), (2, 6)], "id long, n int").write.partitionBy("n").parquet(path)

    read = publish(hidden, written)
    assert sorted((row.id, row.n) for row in read().collect()) == [(1, 5), (2, 6), (7, 100)]
    assert [(row.id, row.n) for row in read(where={"n": (100, 100)}).collect()] == [(7, 100)]
    assert [(row.id, row.n) for row in read(where={"n": (6, 6)}).collect()] == [(2, 6)]
    assert explained(store, {"n": (100, 100)}).left_out == 0


def test_columns_that_are_united_are_compared_as_what_they_became(publish: Callable, store: PartitionStore) -> None:
    """Bytes and longs are longs; numbers and texts are texts, in which 10 comes before 9."""
    read = publish(
        file_of(a=pa.array([9], pa.int8()), b=pa.array([9], pa.int64())),
        file_of(a=pa.array([10], pa.int64()), b=pa.array(["10"])),
    )
    assert [row.a for row in read(where={"a": (10, None)}, allow_lossy=True).collect()] == [10]
    assert explained(store, {"a": (10, 10)}).read <= 2
    assert [row.b for row in read(where={"b": ("9", None)}, allow_lossy=True).collect()] == ["9"]
    with pytest.raises(InvalidInputError, match="is of type string"):
        read(where={"b": (9, None)}, allow_lossy=True)


def test_a_column_that_some_files_lack_is_null_there(publish: Callable, store: PartitionStore) -> None:
    read = publish(file_of(id=[1], more=["x"]), file_of(id=[2]), file_of(id=[3], more=["y"]))
    assert [row.id for row in read(where={"more": ("y", "y")}).collect()] == [3]
    assert read(where={"id": (2, 2)}).columns == read().columns
    assert explained(store, {"more": ("y", "y")}) == FilesRead(files=3, read=2, left_out=1, unknown=1)


def test_old_days_and_texts_with_a_collation_are_never_guessed(spark: Any, publish: Callable) -> None:
    old = [dt.date(1500, 3, 1), dt.date(1899, 12, 31)]

    def written(path: str) -> None:
        spark.sql("SELECT 'A' COLLATE UTF8_LCASE AS name, 1 AS id").write.parquet(path)

    read = publish(written, file_of(id=pa.array([1, 2], pa.int32()), day=old))
    with pytest.raises(InvalidInputError, match="is of type string collate"):
        read(where={"name": ("a", "a")})
    assert [row.day for row in read(where={"day": (None, dt.date(1500, 3, 1))}).collect()] == old[:1]


def test_rows_of_a_compaction_are_found_and_its_files_read(
    spark: Any, publish: Callable, store: PartitionStore, output_root: str
) -> None:
    read = publish(*(file_of(id=pa.array([number], pa.int64())) for number in range(6)))
    assert explained(store, {"id": (3, 3)}).left_out == 5
    planned(store)
    done = drain(compact, store=store, source=merged_source("s"), spark=spark, output_root=output_root)
    assert done.completed == 1, done.errors
    index_outputs(store, "s", "d")
    assert [row.id for row in read(where={"id": (3, 3)}).collect()] == [3]
    assert explained(store, {"id": (3, 3)}).left_out == 0
