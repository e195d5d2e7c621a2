"""Real driver processes that are killed, stopped, or lose their lease."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import timedelta

from airflow_coordination.leases import Outcome, PartitionStatus
from airflow_coordination.spark import Complete, drain, read_completed
from tests.integration.spark.drivers import Task, eventually


def rows(spark, task: Task) -> list[int]:
    frame = read_completed(spark, store=task.store, source="flights", dataset="rows")
    return sorted(row.id for row in frame.collect())


def test_s12_a_driver_killed_after_saving_loses_and_doubles_nothing(spark, task: Task) -> None:
    coordinator = task.coordinator()
    coordinator.create_partitions(["p"])
    (task.signs / "written 1.hold").touch()
    first = task.start("in_parts.py", coordinator.get_next_partition())
    first.reached("written 1")  # the first block is saved, the second is finished but not saved
    first.send(signal.SIGKILL)
    first.wait()
    (task.signs / "written 1.hold").unlink()
    lease = task.coordinator(owner="host/dag/run/task/0/2").tries.retake("p")
    second = task.start("in_parts.py", lease, owner=lease.partition.owner)
    assert second.wait() == 0, second.text()
    assert (task.signs / "started at 1").exists()
    assert rows(spark, task) == list(range(30))
    assert [report["outcome"] for report in second.reports("ended")] == ["completed"]
    assert second.counted("partitionsCompleted") == 1


def test_s12_a_zombie_changes_nothing_and_its_refusal_counts_once(spark, task: Task) -> None:
    task.ownership_timeout = timedelta(seconds=10)
    coordinator = task.coordinator()
    coordinator.create_partitions(["p"])
    (task.signs / "written.hold").touch()
    with coordinator.heartbeat(lease := coordinator.get_next_partition()):
        zombie = task.start("at_once.py", lease)
        eventually(lambda: zombie.reports("began") or zombie.process.poll() is not None)
    zombie.reached("written")
    zombie.stop_between_writes(task.store_url)
    (task.signs / "written.hold").unlink()

    def main(spark, lease):
        with lease.publish("rows") as block:
            spark.range(1_000, 1_100).write.parquet(block.path)
        return Complete()

    def second_driver():
        return drain(
            main,
            store=task.store,
            source="flights",
            spark=spark,
            output_root=task.output_root,
            ownership_timeout=timedelta(seconds=60),
        ).completed

    eventually(second_driver)
    zombie.send(signal.SIGCONT)
    assert zombie.wait() == 3, zombie.text()
    assert rows(spark, task) == list(range(1_000, 1_100))
    [refused] = zombie.reports("refused")
    assert f"Partition 'p' is not owned under fence {lease.fence}: this tenure ended: lost" in refused["message"]
    assert "nobody holds it now" in refused["message"]
    assert [report["outcome"] for report in zombie.reports("ended")] == ["lost"]
    assert zombie.counted("partitionNotOwnedErrors") == 1
    assert zombie.counted("partitionsCompleted") == 0


def test_l7_a_lost_lease_cancels_the_running_job_and_ends_the_driver(task: Task) -> None:
    task.ownership_timeout = timedelta(seconds=20)
    coordinator = task.coordinator()
    coordinator.create_partitions(["p"])
    driver = task.start("long.py", coordinator.get_next_partition())
    driver.reached("running")
    successor = task.coordinator(owner="host/dag/run/task/0/2").tries.retake("p")
    assert driver.wait() == 3, driver.text()  # its job would take ten minutes
    [refused] = driver.reports("refused")
    assert "this tenure ended: retaken" in refused["message"]
    assert f"it is now held by 'host/dag/run/task/0/2' under fence {successor.fence}" in refused["message"]
    assert coordinator.partition("p").fence == successor.fence


def test_l2_sigterm_gives_the_lease_back_at_once(task: Task) -> None:
    """The system's tests of kills measure how soon, beside Airflow."""
    task.ownership_timeout = timedelta(minutes=10)
    coordinator = task.coordinator()
    coordinator.create_partitions(["p"])
    driver = task.start("long.py", coordinator.get_next_partition())
    driver.reached("running")
    driver.process.send_signal(signal.SIGTERM)
    eventually(lambda: coordinator.partition("p").status is PartitionStatus.UNASSIGNED)
    assert driver.wait() == 143, driver.text()
    partition = coordinator.partition("p")
    assert partition.endings[-1].outcome is Outcome.GIVEN_UP
    assert (partition.failures, partition.lost_leases) == (0, 0)


def test_a_function_that_does_not_let_itself_be_stopped_is_left(task: Task) -> None:
    coordinator = task.coordinator()
    coordinator.create_partitions(["p"])
    driver = task.start("stuck.py", coordinator.get_next_partition())
    driver.reached("running")
    driver.process.send_signal(signal.SIGTERM)
    assert driver.wait() == 143, driver.text()
    assert (task.signs / "interrupted").exists()
    assert coordinator.partition("p").endings[-1].outcome is Outcome.GIVEN_UP


def test_s18_a_driver_on_another_store_refuses_to_start(task: Task) -> None:
    coordinator = task.coordinator()
    coordinator.create_partitions(["p"])
    driver = task.start("at_once.py", coordinator.get_next_partition(), store_id="another-store")
    assert driver.wait() == 1
    [refused] = driver.reports("refused")
    assert "belongs to store another-store" in refused["message"]
    assert task.store.store_id in refused["message"]


def test_e5_forked_children_leave_the_spark_jobs_and_the_tenure_of_their_parent_alone(spark, task: Task) -> None:
    """E5: terminated and ending children, while a real Spark job of the partition runs."""
    coordinator = task.coordinator()
    coordinator.create_partitions(["p"])
    driver = task.start("forking.py", coordinator.get_next_partition())
    assert driver.wait() == 0, driver.text()
    assert [report["outcome"] for report in driver.reports("ended")] == ["completed"]
    assert len(driver.reports("spark")) == 1
    assert rows(spark, task) == list(range(10))


def test_e10_a_function_that_stops_the_session_leaves_the_next_partition_alone(task: Task) -> None:
    """E10: the next one stayed ASSIGNED without a heartbeat for ten minutes, and the error was an AttributeError."""
    coordinator = task.coordinator()
    coordinator.create_partitions(["p", "q"])
    driver = task.start("stopping.py", coordinator.get_next_partition(), max_leases=None)
    assert driver.wait() == 1, driver.text()
    assert [report["outcome"] for report in driver.reports("ended")] == ["completed"]
    assert coordinator.partition("q").token == 0
    [refused] = driver.reports("refused")
    assert refused["message"] == (
        "SettingsError: partition='p': its function has stopped the Spark session, so that this driver takes no "
        "further partition. Leave spark.stop() out of the function: the driver does that"
    )


def test_a2_a_driver_that_cannot_work_leaves_its_partition_uncharged(task: Task, tmp_path) -> None:
    """A2: an output root that is a file was the partition's failure."""
    (tmp_path / "file").touch()
    coordinator = task.coordinator()
    coordinator.create_partitions(["p"])
    driver = task.start("at_once.py", coordinator.get_next_partition(), output_root=f"{tmp_path}/file")
    assert driver.wait() == 1, driver.text()
    [refused] = driver.reports("refused")
    assert "is a file. Give a directory. No partition is charged with this." in refused["message"]
    assert not driver.reports("began")
    assert coordinator.partition("p").failures == 0


def test_what_a_driver_measures_is_told_with_each_save(task: Task) -> None:
    coordinator = task.coordinator()
    coordinator.create_partitions(["p"])
    driver = task.start("measuring.py", coordinator.get_next_partition())
    assert driver.wait() == 0, driver.text()
    told = [line.partition('"event": "')[2].partition('"')[0] for line in driver.text().splitlines()]
    assert [event for event in told if event in ("saved", "gauges", "ended")] == ["saved", "gauges", "ended", "gauges"]
    name = "flights_source_coordinator_millisBehindLatest"
    assert [report["gauges"] for report in driver.reports("gauges")] == [{name: 5000}, {name: 0}]


KILLED = """
import os, signal, sys
from pyspark.sql import SparkSession
from airflow_coordination.spark import drain
from airflow_coordination.stores import open_store
def main(spark, lease):
    with lease.publish("rows") as block:
        spark.range(10).write.parquet(block.path)
    lease.save({"row": 10})
    os.kill(os.getpid(), signal.SIGKILL)
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
drain(main, store=sys.argv[1], source="flights", spark=spark, output_root=sys.argv[2])
"""


def test_w8_a_drain_goes_on_at_once_with_what_one_that_was_killed_on_its_machine_held(spark, task: Task) -> None:
    """The lease would last for ten minutes; what was saved under it counts once."""
    coordinator = task.coordinator()
    coordinator.create_partitions(["p"])
    command = [sys.executable, "-c", KILLED, task.store_url, str(task.output_root)]
    died = subprocess.run(command, capture_output=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()[-3000:]
    assert coordinator.partition("p").status is PartitionStatus.ASSIGNED

    def main(spark, lease):
        assert lease.progress_state == {"row": 10}
        with lease.publish("rows") as block:
            spark.range(10, 30).write.parquet(block.path)
        return Complete()

    drained = drain(main, store=task.store, source="flights", spark=spark, output_root=task.output_root)
    assert (drained.completed, drained.keys) == (1, ("p",))
    assert rows(spark, task) == list(range(30))
    assert [each.outcome for each in coordinator.history("p")] == [Outcome.FAILED, Outcome.COMPLETED]
