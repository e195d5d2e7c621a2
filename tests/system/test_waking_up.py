"""Waiting without a worker, and waking by work alone, under a real scheduler and with triggerers that die."""

from __future__ import annotations

import signal
import time
from datetime import datetime, timedelta

import pytest

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.protocol.partition import PartitionIdentifier
from tests.system.harness import wait_for
from tests.system.triggerers import Triggerers

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.timed, pytest.mark.timeout(600)]

WITHIN = 10.0
"""Seconds; the promise is poll (2 s) + 5, and this machine may be busy with other tests."""
KEYS = [f"p{number}" for number in range(5)]


@pytest.fixture(scope="module")
def triggerers(airflow, environ):
    return Triggerers(airflow, environ)


class Waiting:
    """A sensor that waits in the triggerer for partitions that are closed."""

    def __init__(self, airflow, store, name, closed_for):
        self.airflow, self.name = airflow, name
        self.coordinator = SourceCoordinator(store, name, "test")
        self.coordinator.create_partitions(KEYS)
        for _ in KEYS:
            self.coordinator.close(self.coordinator.get_next_partition(), reopen_after=closed_for)
        self.run_id = airflow.trigger(name)
        wait_for(lambda: self.task["state"] == "deferred", 120, "the sensor waits without a worker")
        # Airflow fails a task that is queued again before the scheduler has heard that its first process ended.
        heard = f"Received executor event with state success for task instance TaskInstanceKey(dag_id='{name}'"
        wait_for(lambda: heard in (airflow.home / "standalone.log").read_text(), 60, "the scheduler knows that")

    @property
    def task(self):
        return self.airflow.task(self.name, self.run_id)

    def _ended(self):
        """Return in which state the task has ended and after how many tries, nothing while it goes on."""
        task = self.task
        return (task["state"], task["try_number"]) if task["state"] in ("success", "failed", "skipped") else None

    def open_all(self):
        """Let all of them be due now. The sensor may see the first one before the last one is."""
        for key in KEYS:
            self.coordinator.people.reopen(key, by="test", why="test")

    def check_ends_well(self):
        """It ends once, and each partition was reopened once and is free to be acquired once."""
        started = time.monotonic()
        ended = wait_for(self._ended, 120, "the sensor has seen it")
        print(f"\n{self.name}: the sensor ended {time.monotonic() - started:.1f} s later")
        assert ended == ("success", 1)
        for key in KEYS:
            found = self.coordinator.partition(key)
            assert (found.status, found.closed_count, found.token) == (PartitionStatus.UNASSIGNED, 1, 1)


def runs_of(airflow, dag_id):
    found = airflow.call("GET", f"/api/v2/dags/{dag_id}/dagRuns?limit=100&order_by=run_after")
    return found["dag_runs"]


def test_a_dag_whose_run_ended_is_started_again_by_a_partition_that_becomes_due(airflow, store):
    """By work alone: nobody triggers it, and it has no schedule."""
    coordinator = SourceCoordinator(store, "wakes", "test")
    coordinator.create_partitions([PartitionIdentifier("p", payload={"closes_for": 10})])
    wait_for(lambda: coordinator.partition("p").status is PartitionStatus.CLOSED, 120, "the first run took new work")
    due = coordinator.partition("p").reopen_at
    wait_for(lambda: [run["state"] for run in runs_of(airflow, "wakes")] == ["success"], 60, "the first run ended")
    assert store.now() < due

    wait_for(lambda: len(runs_of(airflow, "wakes")) == 2, 60, "a second run started")
    again = wait_for(lambda: runs_of(airflow, "wakes")[1]["start_date"], 60, "the second run started")
    late = (datetime.fromisoformat(again) - due).total_seconds()
    print(f"\nThe DAG was started {late:.1f} s after the partition was due")
    assert 0 <= late < WITHIN

    wait_for(lambda: coordinator.partition("p").status is PartitionStatus.COMPLETED, 120, "the second run took it")
    wait_for(lambda: runs_of(airflow, "wakes")[1]["state"] == "success", 60, "the second run ended")
    assert [run["run_type"] for run in runs_of(airflow, "wakes")] == ["asset_triggered"] * 2


def test_another_dag_is_told_which_partitions_were_worked_on(airflow, store):
    partition = PartitionIdentifier("told", payload={"closes_for": 3600})
    SourceCoordinator(store, "wakes", "test").create_partitions([partition])

    def told():
        done = [run["dag_run_id"] for run in runs_of(airflow, "told") if run["state"] == "success"]
        return [key for run_id in done for key in airflow.xcom("told", run_id, "report", -1)]

    wait_for(lambda: "told" in told(), 60, "a DAG on the asset has the key")


def test_a_sensor_waits_in_the_triggerer_until_partitions_open_again(airflow, store):
    waits = Waiting(airflow, store, "waits", timedelta(hours=1))
    waits.open_all()
    opened = time.monotonic()
    waits.check_ends_well()
    assert time.monotonic() - opened < 2 * WITHIN  # Airflow starts the task again in a worker, to end it


@pytest.mark.long
def test_l9_two_triggerers_run_the_same_sensor(airflow, store, triggerers):
    """One is frozen, taken for dead, and comes back (promise L9)."""
    triggerers.be_two()
    waits = Waiting(airflow, store, "waits_frozen", timedelta(hours=1))
    frozen = triggerers.holder(waits.name, waits.run_id)
    frozen.send(signal.SIGSTOP)
    try:
        triggerers.wait_until_taken_over(waits.name, waits.run_id, frozen)
    finally:
        frozen.send(signal.SIGCONT)
    waits.open_all()
    waits.check_ends_well()


def test_l9_one_of_two_triggerers_is_killed(airflow, store, triggerers):
    """The other one takes its sensor over; nothing is lost, nothing is reopened twice."""
    triggerers.be_two()
    waits = Waiting(airflow, store, "waits_killed", timedelta(seconds=20))
    killed = triggerers.holder(waits.name, waits.run_id)
    triggerers.end(killed, signal.SIGKILL)
    triggerers.wait_until_taken_over(waits.name, waits.run_id, killed)
    waits.check_ends_well()


def test_l3_partitions_become_due_while_no_triggerer_runs(airflow, store, triggerers):
    """A restarted triggerer goes on with its sensors, and starts the DAGs that wait for work."""
    waits = Waiting(airflow, store, "waits_restarted", timedelta(hours=1))
    for one in list(triggerers.all):
        triggerers.end(one, signal.SIGTERM)
    waits.open_all()
    SourceCoordinator(store, "wakes", "test").create_partitions(
        [PartitionIdentifier("while none ran", payload={"closes_for": 3600})]
    )
    runs = len(runs_of(airflow, "wakes"))
    triggerers.start()
    waits.check_ends_well()
    wait_for(lambda: len(runs_of(airflow, "wakes")) == runs + 1, 60, "the DAG was started")
