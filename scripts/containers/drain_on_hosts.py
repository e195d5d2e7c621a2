"""What each host of `make three-hosts` runs: make the partitions, drain them on Spark, or say how they stand.

usage: drain_on_hosts.py create | drain | look

A task on an executor says which host it runs on; those of later partitions then wait for a file, ``go``, which is how
the check holds everybody in the middle of the work.
"""

import json
import os
import socket
import sys
import time
import uuid
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq

from airflow_coordination import Complete, PartitionIdentifier, SourceCoordinator, drain, open_store
from airflow_coordination.outputs.published import published_manifests

SHARED = Path("/data")
SOURCE = "numbers"
PARTITIONS, FREE, ROWS, TASKS = 12, 4, 40, 4
CONF = {
    "spark.master": "spark://host-1:7077",
    "spark.driver.host": socket.gethostname(),
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.cores.max": "3",
    # A host that is gone is missed after so long; two minutes are Spark's default.
    "spark.network.timeout": "20s",
    "spark.network.timeoutInterval": "5s",
    "spark.executor.heartbeatInterval": "4s",
    "spark.ui.enabled": "false",
    "spark.log.level": "WARN",
}


def publish_numbers(spark, lease):
    """Publish the partition's numbers, in as many tasks as there are executors and one more."""
    first, key, free = lease.partition.payload["first"], lease.partition.key, lease.partition.payload["free"]

    def numbers(rows):
        """Runs on an executor."""
        seen = SHARED / "seen" / f"{key}_{socket.gethostname()}_{uuid.uuid4().hex}"
        seen.touch()
        while not (free or (SHARED / "go").exists()):
            time.sleep(0.2)
        return [(row,) for row in rows]

    rows = spark.sparkContext.parallelize(range(first, first + ROWS), TASKS).mapPartitions(numbers)
    with lease.publish("numbers") as block:
        spark.createDataFrame(rows, "id long").write.parquet(block.path)
    return Complete()


def create(coordinator):
    """Make all partitions, and the folders of what executors say and of what is published."""
    for name in ("seen", "published"):
        (SHARED / name).mkdir(exist_ok=True)
    coordinator.create_partitions(
        [
            PartitionIdentifier(f"p{number:02}", payload={"first": number * ROWS, "free": number < FREE})
            for number in range(PARTITIONS)
        ]
    )


def work(store, coordinator):
    """Drain again and again until everything is completed: as a service does."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.config(map=CONF).getOrCreate()
    while any(str(each.status) != "COMPLETED" for each in coordinator.looking.each()):
        drained = drain(
            publish_numbers,
            store=store,
            source=SOURCE,
            spark=spark,
            output_root=str(SHARED / "published"),
            max_leases=None,
            ownership_timeout=timedelta(seconds=40),
            owner=socket.gethostname(),
        )
        print(drained, flush=True)
        time.sleep(1)


def look(store, coordinator):
    """Print how each partition stands, how its tenures have ended, every row that readers see, and which tasks ran."""
    partitions = {
        each.key: {
            "status": str(each.status),
            "owner": each.owner and str(each.owner),
            "ended": [[str(past.outcome), str(past.owner)] for past in coordinator.looking.history(each.key)],
        }
        for each in coordinator.looking.each()
    }
    manifests = published_manifests(store, SOURCE, "numbers")
    files = [f"{manifest.directory}/{file.path}" for manifest in manifests for file in manifest.files]
    rows = sorted(row for file in files for row in pq.read_table(file).column("id").to_pylist())
    tasks = [path.name.split("_")[:2] for path in (SHARED / "seen").iterdir()]
    print(json.dumps({"partitions": partitions, "rows": rows, "tasks": tasks}))


def main(what):
    """Do one of the three."""
    with closing(open_store(os.environ["HOSTS_STORE"])) as store:
        if what == "create":
            store.setup()
        coordinator = SourceCoordinator(store, SOURCE, socket.gethostname())
        if what == "create":
            create(coordinator)
        elif what == "drain":
            work(store, coordinator)
        else:
            look(store, coordinator)


if __name__ == "__main__":
    main(sys.argv[1])
