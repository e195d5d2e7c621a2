"""Several tenures at a time in one Airflow task, on one session of a real Spark Connect server."""

from __future__ import annotations

import os
import signal
import threading
from datetime import timedelta

import pytest

from airflow_coordination.leases import Outcome, PartitionStatus
from airflow_coordination.spark import Complete, read_completed
from tests.integration.spark.drivers import eventually
from tests.integration.spark_connect.test_leased_pyspark import coordinator, never_ending, process  # noqa: F401

KEYS = ("a", "b", "c")


@pytest.fixture
def work(process):  # noqa: F811
    """Run a function in one task that works on three partitions at a time; return its task instance."""

    def run(function, **arguments):
        return process(function, hints=["b"], **{"max_leases": None, "concurrent_leases": 3} | arguments)[0]

    return run


def test_each_thread_has_its_own_lease_and_all_of_them_work_at_once(work, coordinator, store_url, session):  # noqa: F811
    barrier = threading.Barrier(3)

    def publish(spark, lease, hint):
        barrier.wait(60)  # broken if there are not three
        with lease.publish("squares") as block:
            key = f"'{lease.partition.key}' as key"
            spark.range(10).selectExpr(key, f"'{hint}' as hint", "id * id as n").write.parquet(block.path)
        return Complete()

    ti = work(publish)
    assert ti.state == "success"
    pushed = ti.xcom_pull(task_ids="process", map_indexes=0)
    assert (pushed["completed"], sorted(pushed["partitions"])) == (3, list(KEYS))
    rows = read_completed(session, store=store_url, source="numbers", dataset="squares").collect()
    assert sorted((row.key, row.hint, row.n) for row in rows) == [(key, "b", n * n) for key in KEYS for n in range(10)]


def test_l7_a_person_releases_one_and_only_its_action_is_interrupted(work, coordinator):  # noqa: F811
    began = threading.Barrier(3)
    over = threading.Event()

    def hold(spark, lease):
        began.wait(60)
        if lease.partition.key == "a":
            coordinator.people.park("a", by="ana", why="moved")
            try:
                never_ending(spark).collect()
            finally:
                over.set()
        rows = spark.range(3).selectExpr("id").collect()
        assert over.wait(60)
        assert len(rows) == spark.range(3).count()
        return Complete()

    ti = work(hold)
    assert ti.state == "failed"
    assert over.is_set()
    endings = {key: coordinator.partition(key).endings[-1].outcome for key in KEYS}
    assert endings["b"] is endings["c"] is Outcome.COMPLETED
    assert coordinator.partition("a").parked


def test_the_failure_of_one_is_its_own_and_the_tasks(work, coordinator):  # noqa: F811
    began = threading.Barrier(3)

    def fail(spark, lease):
        began.wait(60)
        if lease.partition.key == "c":
            spark.sql("select raise_error('bad row')").collect()
        return Complete()

    assert work(fail).state == "failed"
    assert coordinator.partition("c").failures == 1
    assert coordinator.counts()[PartitionStatus.COMPLETED] == 2


def test_l2_sigterm_gives_all_leases_back_at_once(work, coordinator):  # noqa: F811
    began = threading.Barrier(3, action=lambda: os.kill(os.getpid(), signal.SIGTERM))

    def hold(spark, lease):
        began.wait(60)
        never_ending(spark).collect()

    assert work(hold, ownership_timeout=600.0).state == "failed"
    for key in KEYS:
        partition = coordinator.partition(key)
        assert (partition.endings[-1].outcome, partition.failures) == (Outcome.GIVEN_UP, 0)


def test_a_retry_goes_on_with_all_that_the_try_before_held(work, coordinator, monkeypatch):  # noqa: F811
    """The first try dies with its leases, as far as the store knows."""
    from airflow_coordination.leases.coordinator import SourceCoordinator
    from airflow_coordination.operators import pyspark
    from airflow_coordination.submission.in_process import work_in_process

    def dies(function, driver, held, **more):
        mine: SourceCoordinator = driver.coordinator
        for lease in (*held, mine.get_next_partition(), mine.get_next_partition()):
            mine.save_progress_state(lease, {"by": lease.key})
        monkeypatch.setattr(pyspark, "work_in_process", work_in_process)
        raise RuntimeError("killed")

    monkeypatch.setattr(pyspark, "work_in_process", dies)
    seen = {}
    began = threading.Barrier(3)

    def resume(spark, lease):
        began.wait(60)
        seen[lease.partition.key] = lease.progress_state
        return Complete()

    assert work(resume, retries=1, retry_delay=timedelta(0)).state == "success"
    assert seen == {key: {"by": key} for key in KEYS}
    for key in KEYS:
        assert [each.outcome for each in coordinator.partition(key).endings] == [Outcome.RETAKEN, Outcome.COMPLETED]
    eventually(lambda: not coordinator.counts()[PartitionStatus.ASSIGNED])


def test_a_task_that_shares_with_nobody_works_through_everything(work, coordinator):  # noqa: F811
    ti = work(lambda spark, lease, hint: Complete(), balance=True)
    assert ti.state == "success"
    assert coordinator.counts()[PartitionStatus.COMPLETED] == 3
    assert coordinator.workers.members() == []
