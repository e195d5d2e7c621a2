"""The tutorial's DAG under a real scheduler: it drains everything in one run, and is red while something is parked.

``COORDINATION_TUTORIAL_PARTITIONS=3000`` is the long form: more than ``[core] max_map_length`` allows tasks.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from tests.system.harness import wait_for

# Timed for the company: beside the kills it needs no Airflow of its own.
pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.postgres, pytest.mark.timeout(2400)]

PARTITIONS = int(os.environ.get("COORDINATION_TUTORIAL_PARTITIONS", "60"))
CLOSED = ("0-a-closed", "0-b-closed")
GIVEN_UP = ("0-c-given-up", "0-d-given-up") if PARTITIONS > 1000 else ()
"""A driver lets what it gave up rest for 30 s. Where all is done sooner, they would be left over."""
SPECIAL = (*CLOSED, *GIVEN_UP)
"""They come first in the order of their names, so that they are back before the rest is done."""
LATE = 20


class Sales:
    """The tutorial's place and its DAG."""

    def __init__(self, airflow, store) -> None:
        self.airflow = airflow
        self.place = airflow.home / "tutorial"
        self.coordinator = SourceCoordinator(store, "monthly_sales", "test")
        (self.place / "jobs").mkdir(parents=True)
        shutil.copy(Path(__file__).parent / "jobs" / "sales.py", self.place / "jobs" / "clean_sales.py")

    def arrive(self, names) -> None:
        for name in names:
            (self.place / f"sales-{name}.csv").touch()

    def run(self, meanwhile=lambda: None) -> tuple[str, dict[str, str]]:
        """Return how a run ended, and how its tasks did."""
        run_id = self.airflow.trigger("sales")
        meanwhile()
        self.run_id = run_id
        state = wait_for(lambda: self.airflow.is_over("sales", run_id), 300 + PARTITIONS, "the run is over")
        found = self.airflow.call("GET", f"/api/v2/dags/sales/dagRuns/{run_id}/taskInstances")["task_instances"]
        return state, {f"{ti['task_id']}{ti['map_index'] if ti['map_index'] >= 0 else ''}": ti["state"] for ti in found}

    def why(self, task_id: str) -> str:
        """Return what the log of a task says."""
        folder = self.airflow.home / "logs" / "dag_id=sales" / f"run_id={self.run_id}" / f"task_id={task_id}"
        return "".join(path.read_text() for path in folder.rglob("*.log*"))

    @property
    def worked_on(self) -> Counter[str]:
        return Counter(key for path in self.airflow.home.glob("sales-*.seen") for key in path.read_text().splitlines())


@pytest.fixture(scope="module")
def sales(airflow, store):
    return Sales(airflow, store)


def test_e4_one_run_of_two_tasks_drains_everything(sales):
    """E4: more partitions than tasks; some given up, some closed, some created when the sensor has long looked."""
    keys = [*SPECIAL, *(f"{number:05}" for number in range(PARTITIONS - len(SPECIAL) - LATE))]
    sales.arrive(keys)

    def create_late_ones():
        wait_for(lambda: sales.worked_on, 300, "the drivers are at work")
        sales.coordinator.create_partitions([f"sales-late{number:02}" for number in range(LATE)])

    state, tasks = sales.run(create_late_ones)
    assert sales.coordinator.counts()[PartitionStatus.COMPLETED] == PARTITIONS, sales.why("done")
    assert state == "success"
    assert tasks == dict.fromkeys(["create_partitions", "ready", "process0", "process1", "done"], "success")
    twice = {f"sales-{key}" for key in SPECIAL}
    assert {key for key, times in sales.worked_on.items() if times > 1} == twice
    print(f"\n{PARTITIONS} partitions in one run of {len(tasks)} tasks")


def test_a1_every_run_is_red_while_a_partition_is_parked_and_names_it(sales):
    """A1: the run in which it fails, one that has nothing else to do, and one that works on others."""
    sales.coordinator.create_partitions(["sales-bad"])
    for _ in range(sales.coordinator.settings.max_failures - 1):  # on earlier days
        lease = sales.coordinator.acquire_partition("sales-bad")
        sales.coordinator.fail(lease, "no sale at all", retry_after=timedelta(0))
    expected = {"create_partitions": "success", "ready": "success", "done": "failed"}

    sales.arrive(["bad", "new1"])
    state, tasks = sales.run()
    assert state == "failed"
    assert sorted(tasks.pop(f"process{number}") for number in range(2)) == ["failed", "success"]
    assert tasks == expected
    assert "Parked: 'sales-bad' (ValueError: no sale at all in" in sales.why("done")

    state, tasks = sales.run()
    assert (state, tasks) == ("failed", expected | {"ready": "failed", "process": "upstream_failed"})
    assert "Parked: 'sales-bad' (" in sales.why("ready")
    assert "Parked: 'sales-bad' (" in sales.why("done")

    sales.arrive(["new2"])
    state, tasks = sales.run()
    assert (state, tasks) == ("failed", expected | {"process0": "success"})
    assert "Parked: 'sales-bad' (" in sales.why("done")
    assert sales.coordinator.counts()[PartitionStatus.COMPLETED] == PARTITIONS + 2
