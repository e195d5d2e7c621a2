"""One submission from its start to the endings of its tenures, with a spark-submit that is a shell script."""

import json
from datetime import timedelta
from types import SimpleNamespace

import pytest
from airflow.providers.common.compat.sdk import AirflowException

from airflow_coordination.hooks.task_errors import DrainCutShortError, PartitionFailedError
from airflow_coordination.leases import (
    DeploymentError,
    HandOver,
    Owner,
    PartitionNotOwnedError,
    PartitionStatus,
    Settings,
    SourceCoordinator,
)
from airflow_coordination.submission.client_mode import ClientMode
from airflow_coordination.submission.credential_routes import Driver
from airflow_coordination.submission.driver_inputs import DriverInputs
from airflow_coordination.submission.spark_submit import LeasedSparkSubmitHook
from airflow_coordination.submission.supervision import Application, Supervision
from airflow_coordination.submission.task_instance import TaskMemory

FOREIGN = Application("job.jar", begins=False, complete_on_success=True)
OURS = Application("job.py", begins=True)


class Kept(dict):
    """Airflow's task state store."""

    set = dict.__setitem__


class Task:
    """A task with a lease, and all that it needs to submit."""

    def __init__(self, store, program):
        self.program = program
        owner = Owner.of_task("host", "dag", "run", "task", 0, 1).text
        self.coordinator = SourceCoordinator(store, "flights", owner, ownership_timeout=timedelta(seconds=3))
        self.coordinator.create_partitions(["a"])
        self.lease = self.coordinator.get_next_partition()
        self.ti = SimpleNamespace(map_index=-1, stats_tags={"dag_id": "dag"})
        self.context = {"ti": self.ti, "task": SimpleNamespace(outlets=[]), "task_state_store": Kept()}
        self.memory = TaskMemory(self.context)
        self.memory.remember(self.lease.key, self.lease.fence)  # as the operator does before it submits
        self.hook = LeasedSparkSubmitHook(conn_id="client")

    @property
    def partition(self):
        return self.coordinator.partition("a")

    def run(self, application, script="true", before=lambda: None):
        """Supervise a submission whose driver does what ``before`` does here, and then what the script does."""
        self.program.write_text(f"#!/bin/sh\n{script}\n")
        several = application.several
        mode = ClientMode(self.hook, self.coordinator, self.context, several=several)
        supervision = Supervision(self.hook, mode, self.coordinator, self.memory, application)

        def submit():
            before()
            self.hook.submit(application.path)

        return supervision.run(self.context, self.lease, self.inputs(), submit)

    def inputs(self):
        tenure = HandOver(
            source="flights",
            partition_prefix=None,
            key=self.lease.key,
            fence=self.lease.fence,
            owner=self.coordinator.owner.text,
            settings=Settings(),
            store_id=self.coordinator.store.store_id,
        )
        return DriverInputs(Driver.WORKER, foreign=True).with_tenure(tenure)


@pytest.fixture
def task(store, tmp_path, monkeypatch):
    program = tmp_path / "spark-submit"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("AIRFLOW_CONN_CLIENT", json.dumps({"conn_type": "spark", "host": "local[1]"}))
    return Task(store, program)


def test_a_job_that_ends_well_completes_its_partition(task):
    tenures = task.run(FOREIGN)
    assert tenures.done == ("a",)
    assert task.partition.status is PartitionStatus.COMPLETED
    assert task.memory.recall() == {"key": "a", "fence": str(task.lease.fence), "reported": True}


def test_a_job_that_fails_fails_its_partition(task):
    with pytest.raises(PartitionFailedError, match="Error code is: 3"):
        task.run(FOREIGN, "echo oops; exit 3")
    assert (task.partition.status, task.partition.failures) == (PartitionStatus.UNASSIGNED, 1)
    assert task.memory.recall()["reported"] is False


def test_a_driver_that_never_began_is_no_failure_of_its_partition(task):
    with pytest.raises(DeploymentError, match="Partition 'a' was not begun: The driver ended without an outcome"):
        task.run(OURS, "exit 1")
    assert (task.partition.status, task.partition.failures) == (PartitionStatus.UNASSIGNED, 0)


def test_a_task_that_airflow_has_ended_submits_nothing_and_gives_back(task):
    task.hook.stopped = True
    with pytest.raises(AirflowException, match="Nothing was submitted"):
        task.run(FOREIGN)
    assert (task.partition.status, task.partition.failures) == (PartitionStatus.UNASSIGNED, 0)


def test_a_timeout_of_airflow_gives_back(task):
    def timeout():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        task.run(FOREIGN, before=timeout)
    assert (task.partition.status, task.partition.failures) == (PartitionStatus.UNASSIGNED, 0)


def test_a_driver_whose_lease_was_taken_is_ended(task):
    def take():
        task.coordinator.people.reset("a", by="somebody", why="it is theirs now")

    with pytest.raises(PartitionNotOwnedError):
        task.run(FOREIGN, "exec sleep 60", before=take)
    assert (task.partition.status, task.partition.failures) == (PartitionStatus.UNASSIGNED, 0)


def complete(task):
    return lambda: task.coordinator.complete(task.coordinator.begin("a", task.lease.fence))


def test_a_drain_that_was_cut_short_is_tried_again_with_any_partition(task):
    with pytest.raises(DrainCutShortError, match="ended after 1 partitions"):
        task.run(Application("job.py", begins=True, several=True), "exit 1", before=complete(task))
    assert task.memory.recall() is None


def test_one_partition_that_is_done_is_done_however_its_driver_ended(task):
    assert task.run(OURS, "exit 1", before=complete(task)).done == ("a",)
