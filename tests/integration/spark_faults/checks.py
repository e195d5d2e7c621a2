"""What must hold of the output whatever happened to those who wrote it (promise S12)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow_coordination.outputs import collect
from airflow_coordination.spark import read_completed
from tests.integration.spark.drivers import Task
from tests.integration.spark_faults.tree import Tree, named

Row = tuple[object, ...]


def rows(spark: Any, task: Task) -> list[Row]:
    """Return the rows that readers see."""
    frame = read_completed(spark, store=task.store, source="flights", dataset="rows")
    return sorted(tuple(row) for row in frame.collect())


def check_collection(task: Task) -> set[str]:
    """Compare all directories before and after two collections; return the names of the partitions of the losers."""

    def collected():
        return collect(task.store, "flights", task.output_root, older_than=timedelta(0), dry_run=False)

    before, followed = Tree.of(task.output_root), named(task.store, "flights|PARTITION")
    losers = before.blocks - followed
    found = collected()
    after = Tree.of(task.output_root)
    assert after == before.only(followed)
    assert (found.blocks, found.kept, found.unknown) == (len(losers), len(followed), ())
    assert collected().blocks == 0
    assert Tree.of(task.output_root) == after
    return {loser.parents[1].name.partition("-")[2] for loser in losers}
