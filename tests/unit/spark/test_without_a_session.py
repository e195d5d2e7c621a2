"""A function that needs no Spark is drained without a session: no JVM, the same lease, block and ending."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from airflow_coordination import Complete, GiveUp, SourceCoordinator, drain
from airflow_coordination.leases import PartitionStatus
from airflow_coordination.protocol.port import PartitionStore

ROWS = pa.table({"id": [1, 2]})


@pytest.fixture
def days(store: PartitionStore) -> SourceCoordinator:
    """A source of three partitions."""
    days = SourceCoordinator(store, "days", "me")
    days.create_partitions(["a", "b", "c"])
    return days


def publishing(spark, lease):
    assert spark is None
    with lease.publish("days") as block:
        Path(block.path).mkdir(parents=True)
        pyarrow.parquet.write_table(ROWS, f"{block.path}/rows.parquet")
    return Complete()


@pytest.mark.parametrize("at_a_time", [1, 3])
def test_what_a_function_without_spark_writes_is_published(days, tmp_path, at_a_time) -> None:
    done = drain(
        publishing,
        store=days.store,
        source="days",
        spark=None,
        output_root=tmp_path,
        max_leases=None,
        concurrent_leases=at_a_time,
    )
    assert (done.completed, done.failed) == (3, 0)
    assert [head.key for head in days.store.heads("days|PARTITION", "days")] == ["a", "b", "c"]
    assert sum(pyarrow.parquet.read_table(file).num_rows for file in tmp_path.rglob("*.parquet")) == 6


def test_no_jvm_is_started_and_pyspark_is_not_imported(tmp_path) -> None:
    script = f"""
import sys
from airflow_coordination import Complete, SourceCoordinator, drain, open_store
store = open_store("sqlite:///{tmp_path}/c.db")
store.setup()
SourceCoordinator(store, "days", "me").create_partitions(["a", "b"])
done = drain(lambda spark, lease: Complete(), store=store, source="days", spark=None, output_root="{tmp_path}/out",
             max_leases=None, concurrent_leases=2)
assert done.completed == 2
print([name for name in sys.modules if name.startswith(("py4j", "pyspark.sql"))])
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_what_only_spark_can_describe_is_refused_with_a_remedy(days, tmp_path) -> None:
    def as_orc(spark, lease):
        with lease.publish("days", format="orc") as block:
            Path(block.path).mkdir(parents=True)
            pyarrow.orc.write_table(ROWS, f"{block.path}/rows.orc")
        return Complete()

    done = drain(as_orc, store=days.store, source="days", spark=None, output_root=tmp_path)
    assert done.failed == 1
    assert "holds orc that only Spark can describe" in days.partition("a").last_error
    assert "or give the drain a Spark session" in days.partition("a").last_error
    assert days.partition("a").status is PartitionStatus.UNASSIGNED


def test_it_ends_in_every_way(days) -> None:
    ways = {"a": Complete(), "b": GiveUp("later"), "c": None}

    def each(spark, lease):
        if (way := ways[lease.partition.key]) is None:
            raise RuntimeError("broken")
        return way

    done = drain(each, store=days.store, source="days", spark=None, max_leases=None)
    assert (done.completed, done.given_up, done.failed) == (1, 1, 1)
