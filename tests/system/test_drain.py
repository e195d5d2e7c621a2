"""What happens with far more partitions than slots, shown with 5,000 and 8."""

from __future__ import annotations

from collections import Counter

import pytest

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.leases.handover import HANDOVER_VARIABLE
from tests.system.harness import marked, wait_for

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.spark, pytest.mark.postgres, pytest.mark.timeout(900)]

PARTITIONS, SLOTS = 5_000, 8


@pytest.fixture(scope="module")
def drained(airflow, store):
    """The source after one run, in the middle of which a driver's JVM was killed."""
    coordinator = SourceCoordinator(store, "drain", "test")
    coordinator.create_partitions([f"p{number:05d}" for number in range(PARTITIONS)])
    run_id = airflow.trigger("drain")
    wait_for(lambda: _seen(airflow)[1] > PARTITIONS / 10, 400, "the drivers are at work")
    _kill_one()
    wait_for(lambda: airflow.run_state("drain", run_id) in ("success", "failed"), 600, "the run is over")
    return coordinator, run_id


def _seen(airflow) -> tuple[Counter[str], int]:
    """Return how often each partition was worked on, and how often any was."""
    lines = [line for path in airflow.home.glob("drain-*.seen") for line in path.read_text().splitlines()]
    return Counter(line.split()[0] for line in lines), len(lines)


def _kill_one() -> None:
    """Kill the JVM of a driver that is in the middle of its drain."""
    jvms = [process for process in marked(HANDOVER_VARIABLE, '"source": "drain"') if process.name() == "java"]
    jvms[0].kill()


def test_every_partition_is_completed_once_by_eight_tasks(airflow, drained):
    coordinator, run_id = drained
    assert airflow.run_state("drain", run_id) == "success"
    assert coordinator.counts()[PartitionStatus.COMPLETED] == PARTITIONS
    worked_on, times = _seen(airflow)
    assert len(worked_on) == PARTITIONS
    assert times <= PARTITIONS + 2  # what the killed driver had in hand was done again
    tasks = airflow.mapped("drain", run_id, "process")
    assert len(tasks) == SLOTS
    print(f"\n{PARTITIONS} partitions in {SLOTS} slots: {[task['rendered_map_index'] for task in tasks]}")


def test_each_task_tells_its_sum_in_a_few_words(airflow, drained):
    _, run_id = drained
    summaries = [airflow.xcom("drain", run_id, "process", index) for index in range(SLOTS)]
    assert all(len(str(summary)) < 600 for summary in summaries)
    told = sum(summary.get("completed", 0) for summary in summaries if summary)
    assert PARTITIONS * 0.5 < told <= PARTITIONS  # the first try of the killed one could not push its sum


def test_the_killed_drivers_task_went_on_with_its_own_partition(airflow, drained):
    _, run_id = drained
    tries = [task["try_number"] for task in airflow.mapped("drain", run_id, "process")]
    assert sorted(tries) == [1] * (SLOTS - 1) + [2]
