"""Drains that share a source evenly, in a real Spark application."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest

from airflow_coordination.leases import Outcome, PartitionStatus
from airflow_coordination.spark import Complete, GiveUp, drain, worker_pool
from airflow_coordination.spark.balance import Balance
from airflow_coordination.spark.worker_pool import Budget
from airflow_coordination.values.settings import Balancing
from tests.integration.spark.drivers import Task, eventually


def test_a_balanced_drain_works_through_all_and_leaves(spark, task: Task) -> None:
    task.coordinator().create_partitions([f"{number:02}" for number in range(7)])
    seen = []

    def main(spark, lease):
        seen.append([member.capacity for member in task.coordinator().workers.members()])
        return Complete()

    done = drain(
        main,
        store=task.store,
        source="flights",
        spark=spark,
        max_leases=None,
        concurrent_leases=3,
        balance=True,
        balance_interval=timedelta(seconds=0.2),
    )
    assert (done.completed, seen) == (7, [[3]] * 7)
    assert task.coordinator().workers.members() == []


def test_a_balanced_driver_whose_time_is_over_begins_its_first_as_any_driver(spark, task: Task) -> None:
    """``max_runtime`` bounds what is begun, not whether anything is."""
    task.coordinator().create_partitions(["a", "b", "c"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_pool, "Budget", lambda most, until: Budget(most, until=0.0))
        done = drain(
            lambda spark, lease: Complete(),
            store=task.store,
            source="flights",
            spark=spark,
            max_leases=None,
            concurrent_leases=2,
            balance=True,
            balance_interval=timedelta(seconds=0.2),
        )
    assert done.completed == 1


def test_a_balanced_drain_leaves_to_another_worker_what_is_its_share(spark, task: Task) -> None:
    task.coordinator().create_partitions([f"{number:02}" for number in range(6)])
    other = task.coordinator("host/dag/run/other/0/1")
    member = other.workers.join(3)
    barrier = threading.Barrier(4)
    held = []

    def main(spark, lease):
        if lease.partition.key < "03":
            barrier.wait(60)
        held.append(lease.partition.key)
        return Complete()

    def work_beside():
        eventually(lambda: task.coordinator().counts()[PartitionStatus.ASSIGNED])
        leases = [other.acquire_partition(key) for key in ("03", "04", "05")]
        barrier.wait(60)
        eventually(lambda: len(held) == 3)
        for lease in leases:
            other.complete(lease)
        member.leave()

    beside = threading.Thread(target=work_beside)
    beside.start()
    done = drain(
        main,
        store=task.store,
        source="flights",
        spark=spark,
        max_leases=None,
        concurrent_leases=6,
        balance=True,
        balance_interval=timedelta(seconds=0.5),
    )
    beside.join(60)
    assert (done.completed, sorted(held)) == (3, ["00", "01", "02"])


class Late:
    """A worker that comes when somebody else has everything, and asks for its share, in a thread of its own."""

    def __init__(self, coordinator, **options):
        self.coordinator, self.balance = (
            coordinator,
            Balance(coordinator, 2, Balancing(balance_interval=timedelta(seconds=0.3), **options)),
        )
        self.leases, self._over = [], threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self._over.wait(0.05):
            if not self.balance.next_look:
                found = [self.coordinator.get_next_partition() for _ in range(self.balance.room(len(self.leases)))]
                self.leases += [*filter(None, [*found, self.balance.overdue()])]

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join(60)
        for lease in self.leases:
            self.coordinator.complete(lease)
        self.balance.leave()


def drained(main, spark, task, **given):
    return drain(
        main, store=task.store, source="flights", spark=spark, max_leases=None, concurrent_leases=2, balance=True,
        balance_interval=timedelta(seconds=0.3), ownership_timeout=timedelta(seconds=5), **given,
    )  # fmt: skip


def test_a_function_that_looks_hands_its_lease_over(spark, task: Task) -> None:
    task.coordinator().create_partitions(["a", "b"])
    late = Late(task.coordinator("late"))

    def main(spark, lease):
        if not late._thread.is_alive() and lease.partition.key == "b":
            eventually(lambda: task.coordinator().counts()[PartitionStatus.ASSIGNED] == 2)
            late.__enter__()
        lease.save({"seen": 1})
        eventually(lambda: lease.wanted or late.leases)
        return GiveUp("it is wanted") if lease.wanted else Complete()

    done = drained(main, spark, task)
    assert (done.handed_over, done.completed, done.errors) == (1, 1, ())
    [lease] = late.leases
    assert lease.partition.progress_state == {"seen": 1}
    assert lease.partition.endings[-1].outcome is Outcome.HANDED_OVER
    late.__exit__()


def test_l11_one_that_does_not_look_is_stolen_from_and_cancelled(spark, task: Task) -> None:
    task.coordinator().create_partitions(["a", "b"])
    late = Late(task.coordinator("late"), hand_over_timeout=timedelta(seconds=1))
    ended = {}

    def main(spark, lease):
        if lease.partition.key == "b":
            late.__enter__()
        try:
            spark.sparkContext.parallelize([0], 1).map(lambda _: time.sleep(20)).collect()
        finally:
            ended[lease.partition.key] = time.monotonic()
        return Complete()

    done = drained(main, spark, task)
    late.__exit__()
    assert (done.stolen, done.lost, done.completed, done.errors) == (1, 0, 1, ()), "no error: somebody goes on with it"
    stolen = late.leases[0].partition
    assert (stolen.lost_leases, stolen.endings[-1].outcome) == (0, Outcome.STOLEN)
    [other] = {"a", "b"} - {stolen.key}
    assert ended[stolen.key] < ended[other] - 5, "it was cancelled long before its job would have ended"


def test_what_is_interrupted_is_given_up_though_it_is_wanted(spark, task: Task) -> None:
    task.coordinator().create_partitions(["a", "b"])
    late = Late(task.coordinator("late"))

    def main(spark, lease):
        if lease.partition.key == "b":
            late.__enter__()
        eventually(lambda: lease.wanted or late.leases)
        if lease.wanted:
            raise KeyboardInterrupt
        return Complete()

    with pytest.raises(KeyboardInterrupt):
        drained(main, spark, task)
    late.__exit__()
    endings = [ending for each in task.coordinator().partitions() for ending in each.endings]
    assert Outcome.HANDED_OVER not in {ending.outcome for ending in endings}
    assert Outcome.GIVEN_UP in {ending.outcome for ending in endings}
