"""Six monthly files, cleaned by plain Python, because no Spark with a Java was found: each file is a partition.

`create_partitions` lists the files beside this one. `ready` waits until some can be worked on, and hands out two hints.
Two instances of `process` take one month after the other, under a lease each, until nothing is left. `done` is green
when all are done. What a task writes into a folder by itself, as here, is published by nobody: with Spark,
`lease.publish` makes it appear in the step that completes the month.

Look at *Browse → Partitions*. Then put another file beside the others, trigger this DAG again, and see that only the
new month is worked on.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, get_current_context, task

from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.hooks.identity import owner_of
from airflow_coordination.leases import PartitionIdentifier
from airflow_coordination.operators import CreatePartitionsOperator
from airflow_coordination.sensors import PartitionsSensor

HERE = Path(__file__).resolve().parent
SOURCE, STORE = "quickstart", "coordination_quickstart"


def monthly_files(state: dict[str, Any]) -> Iterator[PartitionIdentifier]:
    """Yield a partition for each file there is; one that exists already is left alone."""
    for path in sorted(HERE.glob("sales-*.csv")):
        yield PartitionIdentifier(path.stem, payload={"path": str(path)})


def clean(path: Path) -> None:
    """Write the sales of a month that are worth something."""
    head, *rows = path.read_text().splitlines()
    cleaned = HERE / "published" / path.name
    cleaned.parent.mkdir(exist_ok=True)
    cleaned.write_text("\n".join([head, *(row for row in rows if not row.endswith(",0"))]) + "\n")


@task
def process(hint: str) -> list[str]:
    """Clean one month after the other until nothing is left; return their keys."""
    sales = CoordinationHook(STORE).coordinator(SOURCE, owner_of(get_current_context()))
    keys = []
    while (lease := sales.get_next_partition(hint=hint)) is not None:
        try:
            with sales.heartbeat(lease):  # renews the lease meanwhile
                clean(Path(lease.partition.payload["path"]))
        except Exception as error:
            sales.fail(lease, repr(error))
            raise
        sales.complete(lease)
        keys.append(lease.key)
    return keys


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
    done = PartitionsSensor(
        task_id="done",
        source=SOURCE,
        coordination_conn_id=STORE,
        until="completed",
        poke_interval=5,
        trigger_rule="all_done_min_one_success",
    )
    create >> ready
    [create, process.expand(hint=ready.output)] >> done
