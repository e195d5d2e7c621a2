"""Six monthly files, cleaned by Spark: each file is a partition, leased by one task at a time.

`create_partitions` lists the files beside this one. `ready` waits until some can be worked on, and hands out two hints.
Two instances of `process`, each one Spark application, take one month after the other until nothing is left. What
`sales_job.py` publishes appears with the completion of its month, in the same step. `done` is green when all are done.

Look at *Browse → Partitions*. Then put another file beside the others, trigger this DAG again, and see that only the
new month is worked on.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG

from airflow_coordination.leases import PartitionIdentifier
from airflow_coordination.operators import CreatePartitionsOperator, LeasedSparkSubmitOperator
from airflow_coordination.sensors import PartitionsSensor

HERE = Path(__file__).resolve().parent
SOURCE, STORE = "quickstart", "coordination_quickstart"


def monthly_files(state: dict[str, Any]) -> Iterator[PartitionIdentifier]:
    """Yield a partition for each file there is; one that exists already is left alone."""
    for path in sorted(HERE.glob("sales-*.csv")):
        yield PartitionIdentifier(path.stem, payload={"path": str(path)})


with DAG(
    "coordination_quickstart",
    schedule="@once",
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(seconds=5)},
    doc_md=__doc__,
):
    create = CreatePartitionsOperator(
        task_id="create_partitions", source=SOURCE, coordination_conn_id=STORE, supplier=monthly_files
    )
    ready = PartitionsSensor(task_id="ready", source=SOURCE, coordination_conn_id=STORE, max_hints=2)
    process = LeasedSparkSubmitOperator.partial(
        task_id="process",
        source=SOURCE,
        coordination_conn_id=STORE,
        application=str(HERE / "sales_job.py"),
        conn_id="coordination_quickstart_spark",
        output_root=str(HERE / "published"),
        max_leases=None,  # until nothing is left
    ).expand(hint=ready.output)
    done = PartitionsSensor(
        task_id="done",
        source=SOURCE,
        coordination_conn_id=STORE,
        until="completed",
        poke_interval=5,
        trigger_rule="all_done_min_one_success",
    )
    create >> ready
    [create, process] >> done
