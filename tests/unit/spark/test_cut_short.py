"""D14: a tenure that the store did not hear in time is an error, and its partition is tried again.

On a busy machine a lease's own deadline passes before a renewal is answered. What is given back then was taken for a
decision of the function's: set aside, no error, and the drain ended although work was left.
"""

import threading
from datetime import timedelta
from types import SimpleNamespace

import pytest

from airflow_coordination.hooks.task_errors import PartitionFailedError
from airflow_coordination.leases import Outcome, Settings, SourceCoordinator
from airflow_coordination.spark import Complete, GiveUp
from airflow_coordination.spark.application import _exit_code
from airflow_coordination.spark.draining import drain
from airflow_coordination.spark.tenure import DriverContext, Ended
from airflow_coordination.stores import open_store
from airflow_coordination.submission.in_process import InProcessReports, work_in_process
from airflow_coordination.submission.task_instance import TaskMemory
from airflow_coordination.testing.forwarding import ForwardingStore

LEASE = timedelta(seconds=0.5)


class BusyStore(ForwardingStore):
    """Answers a renewal when the lease's own deadline is over."""

    def forward(self, name, call):
        if threading.current_thread().name.startswith("heartbeat"):
            threading.Event().wait(1.5 * LEASE.total_seconds())
        return call()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr("airflow_coordination.spark.interruption.GRACE", 0.1)
    monkeypatch.setattr("airflow_coordination.spark.interruption.CANCEL_AGAIN", 0.05)


def until_it_is_interrupted():
    while True:
        threading.Event().wait(0.01)


@pytest.fixture
def store():
    busy = BusyStore(open_store("memory://"))
    SourceCoordinator(busy, "flights", "watches").create_partitions(["a", "b"])
    return busy


@pytest.fixture
def drained(store):
    def run(main, **more):
        given = {"source": "flights", "spark": None, "max_leases": None, "ownership_timeout": LEASE}
        return drain(main, store=store, **given, **more)

    return run


@pytest.mark.parametrize("places", [1, 2])
def test_d14_what_was_cut_short_is_an_error_and_is_tried_again(drained, store, places):
    tried = []

    def main(spark, lease):
        tried.append(lease.partition.key)
        if tried.count(lease.partition.key) == 1:
            until_it_is_interrupted()
        return Complete()

    done = drained(main, concurrent_leases=places)
    assert (done.completed, sorted(tried)) == (2, ["a", "a", "b", "b"])
    assert sorted(key for key, _ in done.errors) == ["a", "b"]
    others = "is not owned"  # the store's clock was faster, and another place of this pool has taken it
    assert all("no answer came before the lease's own deadline" in text or others in text for _, text in done.errors)


def test_d14_what_is_cut_short_each_time_is_set_aside_and_does_not_keep_the_others(drained):
    def main(spark, lease):
        if lease.partition.key == "a":
            until_it_is_interrupted()
        return Complete()

    done = drained(main)
    assert (done.completed, done.given_up, done.keys) == (1, 2, ("a", "a", "b"))
    assert (done.left.waiting, [key for key, _ in done.errors]) == (1, ["a", "a"])


def test_d14_what_a_function_gives_up_is_no_error(drained):
    done = drained(lambda spark, lease: GiveUp("not now"))
    assert (done.given_up, done.errors, done.left.waiting) == (2, (), 2)


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([("a", Outcome.GIVEN_UP, True)], 1),
        ([("a", Outcome.GIVEN_UP, True), ("a", Outcome.COMPLETED, False)], 0),
        ([("a", Outcome.GIVEN_UP, True), ("b", Outcome.COMPLETED, False)], 1),
        ([("a", Outcome.GIVEN_UP, False)], 0),
        ([("a", Outcome.HANDED_OVER, True)], 0),
        ([("a", Outcome.STOLEN, True)], 0),
        ([("a", Outcome.HANDED_OVER, True), ("b", Outcome.GIVEN_UP, True)], 1),
    ],
)
def test_d14_a_driver_whose_work_was_cut_short_does_not_end_as_if_it_were_done(outcomes, code):
    """D14: its Airflow task was green, and nobody had done the partition."""
    endings = [Ended(key=key, outcome=outcome, cut=cut) for key, outcome, cut in outcomes]
    assert _exit_code(endings) == code


@pytest.fixture
def in_process(store):
    """Work through two partitions as the task of ``@task.leased_pyspark`` does, and end as it does."""

    def run(main):
        coordinator = SourceCoordinator(store, "flights", "task", settings=Settings(ownership_timeout=LEASE))
        lease = coordinator.get_next_partition(hint="a")
        ti = SimpleNamespace(map_index=-1, xcom_push=lambda key, value: None, rendered_map_index=None)
        kept = SimpleNamespace(set=lambda name, value: run.kept.append(value))
        memory = TaskMemory({"task_state_store": kept})
        reports = InProcessReports({"ti": ti, "task": SimpleNamespace(outlets=[])}, memory, lease)
        driver = DriverContext(spark=None, coordinator=coordinator, report=reports)
        stop = work_in_process(main, driver, [lease], places=1, most=4, max_runtime=None, killed=lambda: False)
        try:
            reports.conclude(coordinator, stop)
        finally:
            run.left = coordinator.partition("a")
        return reports.tenures.summary()

    run.kept = []
    return run


def test_d14_a_task_in_its_own_process_whose_work_was_cut_short_is_not_green(in_process):
    """Though its newest tenure went well; it charges nobody, and its retry goes on with what was cut short."""

    def main(spark, lease):
        if lease.partition.key == "a":
            until_it_is_interrupted()
        return Complete()

    with pytest.raises(PartitionFailedError, match="Partition 'a': the store was not heard in time"):
        in_process(main)
    assert (in_process.left.failures, in_process.left.parked) == (0, False)
    assert [kept["key"] for kept in in_process.kept] == ["a"]


def test_d14_a_task_in_its_own_process_that_finished_it_afterwards_is_green(in_process):
    tried = []

    def main(spark, lease):
        tried.append(lease.partition.key)
        if tried == ["a"]:
            until_it_is_interrupted()
        return Complete()

    assert in_process(main) == {"completed": 2, "given_up": 1, "partitions": ["a", "b"], "more": 0}


def test_d14_a_task_in_its_own_process_that_gives_up_itself_is_green(in_process):
    assert in_process(lambda spark, lease: GiveUp("not now")) == {"given_up": 2, "partitions": [], "more": 0}
