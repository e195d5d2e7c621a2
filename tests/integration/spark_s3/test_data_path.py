"""Publishing and reading through Spark's own connector: no row lost, none doubled, no file copied."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from moto.s3.models import S3Backend

from airflow_coordination.leases import Settings, SourceCoordinator
from airflow_coordination.outputs import OutputError, published_manifests
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark import Complete, drain, read_completed
from airflow_coordination.stores import open_store

SQL = "org.apache.spark.sql.execution"
FAST = Settings(retry_delay=timedelta(0))


@pytest.fixture
def store() -> PartitionStore:
    return open_store("memory://")


@pytest.fixture
def coordinator(store: PartitionStore) -> SourceCoordinator:
    return SourceCoordinator(store, source="s", owner="a person")


@pytest.fixture
def run(spark, store: PartitionStore, root: str):
    def run(main, **more: object):
        return drain(main, store=store, source="s", spark=spark, output_root=root, settings=FAST, **more)

    return run


@pytest.fixture
def rows(spark, store: PartitionStore):
    def rows() -> list[tuple[object, ...]]:
        return sorted(tuple(row) for row in read_completed(spark, store=store, source="s", dataset="d").collect())

    return rows


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The copy requests that the server carries out."""
    seen: list[object] = []
    copy = S3Backend.copy_object

    def counted(self: S3Backend, *arguments: Any, **more: Any) -> object:
        seen.append(arguments)
        return copy(self, *arguments, **more)

    monkeypatch.setattr(S3Backend, "copy_object", counted)
    return seen


def write(lease, frame, **how: object) -> None:
    with lease.publish("d", **how) as block:
        frame.write.parquet(block.path)


def test_s12_blocks_of_two_tenures_are_read_once_and_nothing_is_copied(
    spark, s3, bucket, run, rows, keys, uploads, copies, coordinator
) -> None:
    s3.put_object(
        Bucket=bucket, Key="in/flights.csv", Body=b"id,month\n" + b"".join(b"%d,%d\n" % (n, n % 2) for n in range(6))
    )
    coordinator.create_partitions(["p"])

    def first(spark, lease):
        flights = spark.read.csv(f"s3a://{bucket}/in/flights.csv", header=True, inferSchema=True)
        with lease.publish("d") as block:
            flights.repartition(2).write.partitionBy("month").parquet(block.path)
        lease.save({"done": 1})
        with lease.publish("d") as block:
            flights.write.parquet(block.path)
        raise RuntimeError("before it was saved")

    def second(spark, lease):
        assert lease.progress_state == {"done": 1}
        with lease.publish("d") as block:
            spark.createDataFrame([(6, 0), (7, 1)], "id int, month int").write.partitionBy("month").parquet(block.path)
        return Complete()

    assert run(first).failed == 1
    assert run(second).completed == 1
    assert rows() == [(n, n % 2) for n in range(8)]
    assert (copies, uploads()) == ([], [])
    assert [key for key in keys() if "_temporary" in key or "__magic" in key] == []


def test_without_sparks_binding_rows_are_the_same_and_files_are_copied_twice(
    spark, run, rows, copies, coordinator
) -> None:
    coordinator.create_partitions(["p"])
    standard = {
        "spark.sql.sources.commitProtocolClass": f"{SQL}.datasources.SQLHadoopMapReduceCommitProtocol",
        "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
    }

    def main(spark, lease):
        write(lease, spark.range(20).repartition(2))
        return Complete()

    before = {name: spark.conf.get(name) for name in standard}
    try:
        for name, value in standard.items():
            spark.conf.set(name, value)
        assert run(main).completed == 1
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    assert rows() == [(n,) for n in range(20)]
    assert len(copies) == 4


def test_s12_a_zombies_rows_are_never_read(spark, run, rows, store, coordinator) -> None:
    coordinator.create_partitions(["p"])

    def zombie(spark, lease):
        write(lease, spark.range(100))
        coordinator.people.release("p", by="a test", why="it does not answer")
        assert run(successor).completed == 1
        assert rows() == [(n,) for n in range(1_000, 1_010)]
        return Complete()

    def successor(spark, lease):
        write(lease, spark.range(1_000, 1_010))
        return Complete()

    assert run(zombie).lost == 1
    assert rows() == [(n,) for n in range(1_000, 1_010)]
    assert len(published_manifests(store, "s", "d")) == 1


def test_a_published_file_that_is_gone_is_told(spark, s3, bucket, run, rows, coordinator, keys) -> None:
    coordinator.create_partitions(["p"])

    def main(spark, lease):
        write(lease, spark.range(3))
        return Complete()

    assert run(main).completed == 1
    [file] = [key for key in keys() if key.endswith(".parquet")]
    s3.delete_object(Bucket=bucket, Key=file)
    with pytest.raises(OutputError, match=f"Cannot read the output of partition 'p' of source .*{file} is missing"):
        rows()
