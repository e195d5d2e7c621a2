"""What happens with far more partitions than slots: 5,000 partitions (in CI 500) and two runs of three slots each."""

from __future__ import annotations

from collections import Counter

import psutil
import pytest

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from tests.share import SHARE
from tests.system.harness import wait_for

# Timed for the company: beside the kills it needs no Airflow of its own.
pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.postgres, pytest.mark.timeout(2400)]

PARTITIONS, RUNS, SLOTS = int(5_000 * SHARE), 2, 3


@pytest.fixture(scope="module")
def source(store):
    coordinator = SourceCoordinator(store, "drain", "test")
    coordinator.create_partitions([f"p{number:05d}" for number in range(PARTITIONS)])
    return coordinator


@pytest.fixture(scope="module")
def runs(airflow, source):
    """Two runs at the same time on one standing source; in the middle of it a driver's JVM is killed."""
    runs = [airflow.trigger("drain") for _ in range(RUNS)]
    wait_for(lambda: len(_worked_on(airflow)) > PARTITIONS / 10, 400, "the drivers are at work")
    _jvm_at_work(airflow).kill()
    wait_for(lambda: all(airflow.is_over("drain", run) for run in runs), 1200, "the runs are over")
    return runs


@pytest.fixture(scope="module")
def tasks(airflow, runs):
    return [task for run in runs for task in airflow.mapped("drain", run, "process")]


def _jvm_at_work(airflow):
    """Return the JVM of a driver that has worked on a partition: that of a slot which only starts is nobody's yet."""
    numbers = [int(path.stem.removeprefix("drain-")) for path in airflow.home.glob("drain-*.seen")]
    driver = next(psutil.Process(number) for number in numbers if psutil.pid_exists(number))
    return next(process for process in driver.parents() if process.name() == "java")


def _worked_on(airflow):
    """Return the partitions that were worked on, one for each tenure."""
    seen = [path.read_text().splitlines() for path in airflow.home.glob("drain-*.seen")]
    return [line.split()[0] for lines in seen for line in lines]


def test_every_partition_is_completed_by_one_of_few_tasks(airflow, source, runs, tasks):
    assert [airflow.is_over("drain", run) for run in runs] == ["success"] * RUNS
    assert source.counts()[PartitionStatus.COMPLETED] == PARTITIONS
    times = Counter(_worked_on(airflow))
    assert len(times) == PARTITIONS
    again = {key: source.partition(key).endings for key, number in times.items() if number > 1}
    assert times.total() <= PARTITIONS + 1, again  # what the killed driver had in hand was done again
    assert all(len(endings) == times[key] for key, endings in again.items()), "one tenure for each time"
    assert len(tasks) == RUNS * SLOTS
    print(f"\n{PARTITIONS} partitions: {[task['rendered_map_index'] for task in tasks]}")


def test_l2_the_task_of_the_killed_driver_goes_on_and_no_other_is_touched(tasks):
    assert sorted(task["try_number"] for task in tasks) == [1] * (RUNS * SLOTS - 1) + [2]


def test_each_task_tells_its_sum_in_a_few_words(airflow, runs):
    told = [airflow.xcom("drain", run, "process", index) for run in runs for index in range(SLOTS)]
    assert all(len(str(summary)) < 600 for summary in told)
    sums = [summary["completed"] for summary in told if summary]
    assert PARTITIONS * 0.5 < sum(sums) < PARTITIONS  # the try whose driver was killed could not tell its sum
