"""Drains that share a source evenly, in a real Spark application."""

from __future__ import annotations

import threading

import pytest

from airflow_coordination.leases import PartitionStatus
from airflow_coordination.spark import Complete, drain, draining
from tests.integration.spark.drivers import Task, eventually


def test_a_balanced_drain_works_through_all_and_leaves(spark, task: Task) -> None:
    task.coordinator().create_partitions([f"{number:02}" for number in range(7)])
    seen = []

    def main(spark, lease):
        seen.append([member.capacity for member in task.coordinator().members()])
        return Complete()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draining, "TICK", 0.2)
        done = drain(
            main, store=task.store, source="flights", spark=spark, max_leases=None, concurrent_leases=3, balance=True
        )
    assert (done.completed, seen) == (7, [[3]] * 7)
    assert task.coordinator().members() == []


def test_a_balanced_drain_leaves_to_another_worker_what_is_its_share(spark, task: Task) -> None:
    task.coordinator().create_partitions([f"{number:02}" for number in range(6)])
    other = task.coordinator("host/dag/run/other/0/1")
    member = other.join(3)
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draining, "TICK", 0.5)
        done = drain(
            main, store=task.store, source="flights", spark=spark, max_leases=None, concurrent_leases=6, balance=True
        )
    beside.join(60)
    assert (done.completed, sorted(held)) == (3, ["00", "01", "02"])
