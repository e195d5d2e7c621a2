"""Executors are killed while tasks write, tasks and stages are tried again, and copies of slow tasks race them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pyspark
import pytest

from airflow_coordination.leases import SourceCoordinator
from tests.integration.spark.drivers import Driver, Task, eventually
from tests.integration.spark_faults.checks import Row, check_collection, rows
from tests.integration.spark_faults.events import Events, logging_events

JOB = str(Path(__file__).parent / "jobs" / "executors.py")
RETRIED, DISCARDED, SPECULATED = "task retried", "block discarded", "task speculated"
STAGE, KILLED = "stage retried", "executor killed"
FIRST_ATTEMPT_LOST = {RETRIED: range(20, 40), SPECULATED: range(20, 30), KILLED: range(30, 40)}
"""The numbers that only a later attempt of their task can have written."""
PARTITIONS = (RETRIED, DISCARDED, SPECULATED, STAGE, KILLED)
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.minTaskRuntime": "100ms",
}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the configuration of a small cluster; what starts executors must know where Spark is."""
    home = Path(pyspark.__file__).parent
    [library] = (home / "jars").glob("scala-library-*.jar")
    monkeypatch.setenv("SPARK_HOME", str(home))
    monkeypatch.setenv("SPARK_SCALA_VERSION", library.stem.removeprefix("scala-library-").rpartition(".")[0])
    return {"spark.executor.memory": "512m", "spark.scheduler.minRegisteredResourcesRatio": "1.0"}


def hold(task: Task, *names: str) -> None:
    for name in names:
        (task.signs / f"{name}.hold").touch()


def release(task: Task, name: str) -> None:
    (task.signs / f"{name}.hold").unlink()


def kill_executor(driver: Driver, name: str) -> None:
    """Kill the executor that a waiting task runs on."""
    driver.reached(name)
    os.kill(int((driver.signs / f"{name}.executor").read_text()), signal.SIGKILL)


def test_s12_killed_executors_retries_and_speculation_change_nothing(
    spark, task: Task, cluster: dict[str, str], tmp_path: Path
) -> None:
    (log := tmp_path / "events").mkdir()
    task.conf = cluster | SPECULATION | logging_events(log)
    coordinator = task.coordinator()
    coordinator.create_partitions(PARTITIONS)
    hold(task, f"{SPECULATED} 0", *(f"{name} {index}" for name in (STAGE, KILLED) for index in range(2)))
    driver = task.start(JOB, coordinator.get_next_partition(), max_leases=None)
    for event in ("began", "saved"):
        eventually(lambda event=event: driver.reports(event) or driver.process.poll() is not None)
    for sign in (f"{RETRIED} 1 again", f"{DISCARDED} 1 again", f"{SPECULATED} 0 again"):
        driver.reached(sign)
    for name, again in ((STAGE, 0), (KILLED, 1)):
        driver.reached(f"{name} 0")
        kill_executor(driver, f"{name} 1")
        driver.reached(f"{name} {again} again")
        release(task, f"{name} 0")
    assert driver.wait() == 0, driver.text()
    check_faults(Events.of(log))
    check_rows(rows(spark, task), coordinator)
    assert check_collection(task) == {"block_discarded"}
    check_rows(rows(spark, task), coordinator)


def check_faults(events: Events) -> None:
    """Make sure that everything that the test is about did happen."""
    assert events.failures(RETRIED).count("ExceptionFailure") == 2
    assert events.failures(DISCARDED).count("ExceptionFailure") >= 4  # a copy may run beside the fourth
    assert any(events.speculative(SPECULATED))
    # The attempt that lost the race is killed, which takes Spark some seconds: its executor may be killed before.
    assert {"TaskKilled", "ExecutorLostFailure"} & set(events.failures(SPECULATED))
    assert {"ExecutorLostFailure", "FetchFailed"} <= set(events.failures(STAGE))
    assert events.repeated_stages(STAGE)
    assert "ExecutorLostFailure" in events.failures(KILLED)
    assert not events.repeated_stages(KILLED)
    assert len(events.lost_executors()) == 2


def check_rows(found: list[Row], coordinator: SourceCoordinator) -> None:
    """Every number of every partition once, and none by the attempt of a task that lost."""
    fences = {name: str(coordinator.partition(name).endings[0].fence) for name in PARTITIONS}
    assert [row[:3] for row in found] == sorted(
        (name, fences[name], number) for name in PARTITIONS for number in range(40)
    )
    by_losers = [row for row in found if row[2] in FIRST_ATTEMPT_LOST.get(row[0], ()) and row[3] == 0]
    assert not by_losers
