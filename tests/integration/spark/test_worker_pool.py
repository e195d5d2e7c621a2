"""Several tenures at a time in one real Spark application."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from datetime import timedelta

import pytest

from airflow_coordination.leases import Fence, Outcome, PartitionStatus, Settings
from airflow_coordination.spark import Complete, GiveUp, drain, read_completed
from tests.integration.spark.drivers import Driver, Task, eventually

KEYS = ("a", "b", "c")
RETRY = "host/dag/run/task/0/2"
WHOLE = [(key, number) for key in KEYS for number in range(20)]


@pytest.fixture
def pool(task: Task) -> Task:
    """A task whose driver works under three leases at a time, in as many threads of the JVM."""
    task.master = "local[4]"
    task.coordinator().create_partitions(KEYS)
    return task


def start(task: Task, lease=None, job="pool.py", **changes: object) -> Driver:
    lease = lease or task.coordinator().get_next_partition()
    return task.start(job, lease, **{"max_leases": None, "concurrent_leases": 3} | changes)


def hold(task: Task, *names: str) -> None:
    for name in names:
        (task.signs / f"{name}.hold").touch()


def let_go(task: Task, *names: str) -> None:
    for name in names:
        (task.signs / f"{name}.hold").unlink()


def running(part: int) -> list[str]:
    return [f"{key} running {part}" for key in KEYS]


def rows(spark, task: Task) -> list[tuple[str, int]]:
    frame = read_completed(spark, store=task.store, source="flights", dataset="rows")
    return sorted((row.key, row.id) for row in frame.collect())


def outcomes(driver: Driver) -> dict[object, object]:
    return {report["key"]: report["outcome"] for report in driver.reports("ended")}


def test_three_tenures_run_at_the_same_time(spark, task: Task) -> None:
    task.coordinator().create_partitions([*KEYS, "d", "e", "f"])
    barrier = threading.Barrier(3)
    threads: Counter[str] = Counter()

    def main(spark, lease):
        barrier.wait(60)  # broken if there are not three
        threads[threading.current_thread().name] += 1
        with lease.publish("rows") as block:
            spark.range(1).selectExpr(f"'{lease.partition.key}' as key", "id").write.parquet(block.path)
        return Complete()

    done = drain(
        main,
        store=task.store,
        source="flights",
        spark=spark,
        output_root=task.output_root,
        max_leases=None,
        concurrent_leases=3,
    )
    assert (done.completed, sorted(done.keys), done.errors) == (6, ["a", "b", "c", "d", "e", "f"], ())
    assert rows(spark, task) == [(key, 0) for key in "abcdef"]
    assert set(threads) == {"lease-0", "lease-1", "lease-2"}


def test_max_leases_counts_over_all_of_them(spark, task: Task) -> None:
    task.coordinator().create_partitions([*KEYS, "d", "e", "f"])
    barrier = threading.Barrier(2)

    def main(spark, lease):
        barrier.wait(60)
        return Complete()

    done = drain(main, store=task.store, source="flights", spark=spark, max_leases=4, concurrent_leases=2)
    assert done.completed == 4
    assert task.coordinator().counts()[PartitionStatus.UNASSIGNED] == 2


def test_the_failure_of_one_ends_no_other(spark, task: Task) -> None:
    task.coordinator().create_partitions([*KEYS, "d"])
    failed = threading.Event()

    def main(spark, lease):
        if lease.partition.key == "b":
            spark.sql("select raise_error('bad row')").collect()
        if lease.partition.key == "d":
            return GiveUp("not now", retry_after=timedelta(hours=1))
        eventually(lambda: task.coordinator().partition("b").failures)
        failed.set()
        spark.range(3).count()
        return Complete()

    done = drain(main, store=task.store, source="flights", spark=spark, max_leases=None, concurrent_leases=3)
    assert failed.is_set()
    assert (done.completed, done.failed, done.given_up, done.lost) == (2, 1, 1, 0)
    [(key, message)] = done.errors
    assert (key, "bad row" in message) == ("b", True)


def test_a_supplier_is_not_run_again_at_the_end_of_each(spark, task: Task) -> None:
    listed = []
    barrier = threading.Barrier(3)

    def supplier(state):
        listed.append(len(listed))
        return KEYS if len(listed) == 1 else []

    def main(spark, lease):
        barrier.wait(60)
        return Complete()

    done = drain(
        main, store=task.store, source="flights", spark=spark, max_leases=None, concurrent_leases=3, supplier=supplier
    )
    assert done.completed == 3
    assert len(listed) <= 3  # it listed, then had nothing, and once more when all were over


def test_what_concerns_the_driver_is_raised_when_the_others_are_over(spark, task: Task) -> None:
    task.coordinator().create_partitions([*KEYS, "d"])
    barrier = threading.Barrier(3)

    def main(spark, lease):
        if lease.partition.key != "d":  # which a place may begin before it is heard of what befell "b"
            barrier.wait(60)
        if lease.partition.key == "b":
            raise KeyboardInterrupt
        return Complete()

    with pytest.raises(KeyboardInterrupt):
        drain(main, store=task.store, source="flights", spark=spark, max_leases=None, concurrent_leases=3)
    coordinator = task.coordinator()
    assert coordinator.partition("b").endings[-1].outcome is Outcome.GIVEN_UP
    assert not coordinator.counts()[PartitionStatus.ASSIGNED]


def test_l7_a_person_releases_one_and_the_other_two_go_on(spark, pool: Task) -> None:
    pool.ownership_timeout = timedelta(seconds=20)
    hold(pool, *running(0))
    driver = start(pool)
    for name in running(0):
        driver.reached(name)
    pool.coordinator(owner="ana").people.release("b", by="ana", why="moved")
    pool.coordinator(owner="ana").people.park("b", by="ana", why="moved")
    eventually(lambda: "b" in outcomes(driver))  # its job, which would hang, was cancelled
    assert outcomes(driver) == {"b": "lost"}
    let_go(pool, *running(0))
    assert driver.wait() == 3, driver.text()
    assert outcomes(driver) == {"a": "completed", "b": "lost", "c": "completed"}
    assert rows(spark, pool) == [row for row in WHOLE if row[0] != "b"]
    assert "Tenures of this driver, 3 at a time: 2 completed, 1 lost" in driver.text()
    assert driver.counted("partitionsCompleted") == 2


def test_s12_a_retry_of_a_killed_pool_goes_on_with_all_three(spark, pool: Task) -> None:
    hold(pool, *running(1))
    first = start(pool)
    for name in running(1):
        first.reached(name)  # one block of each is saved, another is being written
    first.send(signal.SIGKILL)
    first.wait()
    let_go(pool, *running(1))
    retry = pool.coordinator(owner=RETRY)
    held = [retry.tries.retake(each.key) for each in retry.tries.held_by_task()]
    assert sorted(lease.key for lease in held) == list(KEYS)
    retaken = tuple((lease.key, lease.fence) for lease in held[1:])
    second = start(pool, held[0], owner=RETRY, retaken=retaken)
    assert second.wait() == 0, second.text()
    assert outcomes(second) == dict.fromkeys(KEYS, "completed")
    assert all((pool.signs / f"{key} started at 1").exists() for key in KEYS)
    assert rows(spark, pool) == WHOLE


def test_a_retaken_tenure_that_is_over_stops_no_other(pool: Task) -> None:
    coordinator = pool.coordinator()
    first, second = coordinator.get_next_partition(), coordinator.get_next_partition()
    coordinator.people.release(second.key, by="ana", why="moved")
    gone = ((second.key, second.fence), ("never", Fence(1, "x")))
    driver = start(pool, first, retaken=gone)
    assert driver.wait() == 0, driver.text()
    assert outcomes(driver) == dict.fromkeys(KEYS, "completed")


def test_l2_sigterm_gives_all_leases_back_at_once(pool: Task) -> None:
    pool.ownership_timeout = timedelta(minutes=10)
    hold(pool, *running(0))
    driver = start(pool)
    for name in running(0):
        driver.reached(name)
    driver.process.send_signal(signal.SIGTERM)
    coordinator = pool.coordinator()
    eventually(lambda: all(coordinator.partition(key).status is PartitionStatus.UNASSIGNED for key in KEYS))
    assert driver.wait() == 143, driver.text()
    assert outcomes(driver) == dict.fromkeys(KEYS, "given up")
    for key in KEYS:
        partition = coordinator.partition(key)
        assert (partition.failures, partition.lost_leases) == (0, 0)


def test_a_function_that_does_not_let_itself_be_stopped_ends_no_other(spark, pool: Task) -> None:
    pool.ownership_timeout = timedelta(seconds=20)
    hold(pool, "a waits", "c waits")
    driver = start(pool, job="pool_stuck.py")
    driver.reached("b sleeps")
    driver.reached("a waits")
    driver.reached("c waits")
    pool.coordinator(owner="ana").people.release("b", by="ana", why="moved")
    pool.coordinator(owner="ana").people.park("b", by="ana", why="moved")
    eventually(lambda: "b" in outcomes(driver))
    let_go(pool, "a waits", "c waits")
    assert driver.wait() == 3, driver.text()
    assert outcomes(driver) == {"a": "completed", "b": "lost", "c": "completed"}
    assert "its thread is left" in driver.text()


def test_what_hangs_is_cancelled_while_the_others_move(spark, task: Task) -> None:
    """The watch over progress would see the others' tasks."""
    task.coordinator().create_partitions(["a", "b"])
    settings = Settings(
        ownership_timeout=timedelta(seconds=20), no_progress_timeout=timedelta(seconds=4), max_failures=1
    )
    coordinator = task.coordinator()

    def main(spark, lease):
        if lease.partition.key == "b":
            while True:
                time.sleep(0.1)
        eventually(lambda: spark.range(3).count() and coordinator.partition("b").parked)
        return Complete()

    done = drain(
        main, store=task.store, source="flights", spark=spark, settings=settings, max_leases=None, concurrent_leases=2
    )
    assert (done.completed, done.failed) == (1, 1)
    [(key, message)] = done.errors
    assert (key, "no progress" in message) == ("b", True)


def test_each_place_has_a_pool_of_the_fair_scheduler(pool: Task) -> None:
    pool.conf = {"spark.scheduler.mode": "FAIR"}
    hold(pool, *running(0))
    driver = start(pool)
    for name in running(0):
        driver.reached(name)
    pools = {path.name.partition(" in pool ")[2] for path in pool.signs.glob("* in pool *")}
    let_go(pool, *running(0))
    assert driver.wait() == 0, driver.text()
    assert pools == {"lease-0", "lease-1", "lease-2"}


def test_a_spark_that_cannot_tell_the_jobs_of_threads_apart_is_refused(pool: Task, monkeypatch) -> None:
    monkeypatch.setenv("PYSPARK_PIN_THREAD", "false")
    driver = start(pool)
    assert driver.wait() == 1, driver.text()
    [refused] = driver.reports("refused")
    assert refused["message"] == (
        "SettingsError: PYSPARK_PIN_THREAD='false': gives all threads of Python the same thread of the JVM, so that "
        "jobs cannot be told apart. Leave PYSPARK_PIN_THREAD out of the driver's environment, or give "
        "concurrent_leases=1"
    )
    assert not driver.reports("began")


def test_e10_a_function_that_stops_the_session_leaves_nothing_held(task: Task) -> None:
    task.master = "local[4]"
    coordinator = task.coordinator()
    coordinator.create_partitions(["a", "stops", "z"])
    hold(task, "a running 0", "stops started at 0")
    driver = start(task, concurrent_leases=2)
    driver.reached("a running 0")
    driver.reached("stops started at 0")
    let_go(task, "stops started at 0")
    assert driver.wait() == 1, driver.text()
    assert outcomes(driver) == {"a": "failed", "stops": "completed"}
    assert coordinator.partition("z").token == 0
    [refused] = driver.reports("refused")
    assert refused["message"] == (
        "SettingsError: spark='the session': was stopped by the function of one of the partitions, so that this driver "
        "takes no further one. Leave spark.stop() out of the function: the driver does that"
    )
