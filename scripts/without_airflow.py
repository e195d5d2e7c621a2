"""Drain one partition with pyspark where Airflow is not installed, and check the published rows.

usage: python without_airflow.py DIRECTORY
"""

import csv
import importlib
import sys
from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import SparkSession

import airflow_coordination
from airflow_coordination import Complete, PartitionStatus, SourceCoordinator, drain, open_store, read_completed

ROOMS = (
    "leases",
    "outputs",
    "stores",
    "spark",
    "sources",
    "sinks",
    "compaction",
    "branches",
    "streams",
    "acknowledgments",
    "cli",
    "testing",
)
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
ROWS = [("UA", 1), ("AA", 2), ("B6", 3)]


def check_rooms():
    """Import every room that promises to do without Airflow."""
    if find_spec("airflow"):
        raise SystemExit("Airflow is importable here, so this shows nothing")
    for name in ROOMS:
        importlib.import_module(f"airflow_coordination.{name}")
    print(f"airflow_coordination {airflow_coordination.__version__} imports without Airflow: {', '.join(ROOMS)}")


def write_input(path):
    """Write the rows as one CSV file."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("carrier", "flight"), *ROWS])


def copy_flights(spark, lease):
    """Publish what the partition's file holds."""
    frame = spark.read.csv(lease.partition.payload["path"], header=True, schema="carrier string, flight int")
    with lease.publish("clean") as block:
        frame.write.parquet(block.path)
    return Complete()


def main(directory):
    """Create, drain and read one partition under ``directory``."""
    check_rooms()
    directory.mkdir(parents=True)
    source_file = directory / "flights.csv"
    write_input(source_file)
    store = open_store(f"sqlite:///{directory / 'coordination.db'}")
    store.setup()
    coordinator = SourceCoordinator(store, source="flights", owner="without_airflow")
    identifier = airflow_coordination.PartitionIdentifier("2013-01", payload={"path": str(source_file)})
    coordinator.create_partitions([identifier])
    spark = SparkSession.builder.master("local[1]").config(map=QUIET).getOrCreate()
    try:
        drain(copy_flights, store=store, source="flights", spark=spark, output_root=str(directory / "output"))
        rows = sorted(
            tuple(row) for row in read_completed(spark, store=store, source="flights", dataset="clean").collect()
        )
    finally:
        spark.stop()
    status = coordinator.partition("2013-01").status
    if rows != sorted(ROWS) or status is not PartitionStatus.COMPLETED:
        raise SystemExit(f"expected {sorted(ROWS)} of a COMPLETED partition, got {rows} of a {status} one")
    print(f"one partition drained with pyspark and no Airflow: {len(rows)} rows published, as in the source")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
