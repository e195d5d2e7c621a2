"""Two driver processes under one hand-over, as YARN's second attempt and ``--supervise`` start them."""

from __future__ import annotations

from airflow_coordination.leases import Outcome, PartitionStatus
from airflow_coordination.spark import read_completed
from tests.integration.spark.drivers import Task, eventually


def test_s2_the_second_takes_the_tenure_over_and_the_firsts_writes_are_refused(spark, task: Task) -> None:
    coordinator = task.coordinator()
    coordinator.create_partitions(["p"])
    lease = coordinator.get_next_partition()
    (task.signs / "written 1.hold").touch()
    first = task.start("in_parts.py", lease)
    first.reached("written 1")  # the first block is saved, the second is finished but not saved
    (task.signs / "written 1").unlink()
    second = task.start("in_parts.py", lease)  # the same hand-over
    second.reached("written 1")
    assert (task.signs / "started at 1").exists()
    (task.signs / "written 1.hold").unlink()
    assert first.wait() == 3, first.text()
    assert second.wait() == 0, second.text()
    frame = read_completed(spark, store=task.store, source="flights", dataset="rows")
    assert sorted(row.id for row in frame.collect()) == list(range(30))
    partition = coordinator.partition("p")
    assert (partition.status, partition.token) == (PartitionStatus.COMPLETED, 2)
    assert [ending.outcome for ending in partition.endings] == [Outcome.RETAKEN, Outcome.COMPLETED]
    [refused] = eventually(lambda: first.reports("refused"))
    assert f"Partition 'p' is not owned under fence {lease.fence}: this tenure ended: retaken" in refused["message"]
    assert [report["outcome"] for report in first.reports("ended")] == ["lost"]
