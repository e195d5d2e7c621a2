"""``@task.leased_pyspark`` in a real Airflow task on a real Spark Connect server."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
from datetime import timedelta

import pytest

from airflow_coordination.leases import Outcome, PartitionStatus, SourceCoordinator
from airflow_coordination.spark import Complete, GiveUp, read_completed
from airflow_coordination.stores import open_store
from airflow_coordination.systems.spark import connect

AT_ONCE = 30.0
"""Seconds, on a machine that is busy with something else, too; what is not interrupted goes on for ever."""


@pytest.fixture
def coordinator(store_url):
    store = open_store(store_url)
    coordinator = SourceCoordinator(store, source="numbers", owner="test")
    coordinator.create_partitions(["a", "b", "c"])
    yield coordinator
    store.close()


@pytest.fixture
def process(connection, coordinator, run_dag, request, tmp_path):
    """Run a function as one mapped task per hint; return its task instances by map index."""
    from airflow.sdk import DAG, task

    def run(function, hints=("a",), **arguments):
        own = {"source": "numbers", "output_root": str(tmp_path / "out"), "ownership_timeout": 20.0}
        with DAG(request.node.name, schedule=None) as dag:
            task.leased_pyspark(task_id="process", **own | arguments)(function).expand(hint=list(hints))
        run = run_dag(dag)
        return {ti.map_index: ti for ti in run.get_task_instances()}

    return run


def publish(spark, lease):
    with lease.publish("squares") as block:
        spark.range(10).selectExpr(f"'{lease.partition.key}' as key", "id * id as n").write.parquet(block.path)
    return Complete()


def never_ending(spark):
    """Return an action that ends only when it is interrupted."""
    return spark.range(0, 10**14, 1, 1).selectExpr("sum(hash(id))")


def interrupted_by(act):
    """Return a function that works for ever, which calls ``act`` meanwhile, and a list of how long it went on then."""
    began, took = [], []

    def begin():
        began.append(time.monotonic())
        act()

    def work(spark, lease):
        threading.Timer(1, begin).start()
        try:
            never_ending(spark).collect()
        finally:
            took.append(time.monotonic() - began[0])

    return work, took


def test_each_task_publishes_its_own_partition(process, coordinator, store_url, session):
    found = process(publish, hints=["a", "b"])
    assert {ti.state for ti in found.values()} == {"success"}
    assert {index: ti.rendered_map_index for index, ti in found.items()} == {0: "a: 10 rows", 1: "b: 10 rows"}
    told = {"completed": 1, "rows": 10, "partitions": ["a"], "more": 0}
    assert found[0].xcom_pull(task_ids="process", map_indexes=0) == told
    rows = read_completed(session, store=store_url, source="numbers", dataset="squares").collect()
    assert sorted((row.key, row.n) for row in rows) == sorted((key, n * n) for key in "ab" for n in range(10))
    assert coordinator.counts()[PartitionStatus.COMPLETED] == 2


def test_l2_a_retry_takes_the_partition_that_failed(process, coordinator):
    """Though its hint was for another that had gone before."""
    seen = []

    def fail_once(spark, lease):
        seen.append((lease.partition.key, lease.partition.failures))
        if len(seen) == 1:
            spark.sql("select raise_error('bad row')").collect()
        return Complete()

    found = process(fail_once, hints=["b"], retries=1, retry_delay_of_partition=timedelta(0))
    assert found[0].state == "success"
    assert seen == [("b", 0), ("b", 1)]
    assert coordinator.partition("b").status is PartitionStatus.COMPLETED


def test_a_failure_is_the_partitions_and_the_tasks(process, coordinator):
    def fail(spark, lease):
        raise ValueError("no such month")

    assert process(fail)[0].state == "failed"
    partition = coordinator.partition("a")
    assert (partition.status, partition.failures) == (PartitionStatus.UNASSIGNED, 1)
    assert "ValueError: no such month" in partition.last_error
    assert partition.available_at is not None


def test_one_task_drains_several(process, coordinator):
    def give_up_b(spark, lease):
        return GiveUp("not yet") if lease.partition.key == "b" else publish(spark, lease)

    found = process(give_up_b, max_leases=3)
    assert found[0].state == "success"
    summary = found[0].xcom_pull(task_ids="process", map_indexes=0)
    assert summary == {"completed": 2, "given_up": 1, "partitions": ["a", "c"], "rows": 20, "more": 0}


def test_a_drain_ends_with_its_session(process, coordinator):
    """Each further partition would fail for nothing."""

    def stop_session(spark, lease):
        spark.stop()
        spark.range(1).collect()

    assert process(stop_session, max_leases=3)[0].state == "failed"
    assert [coordinator.partition(key).failures for key in "abc"] == [1, 0, 0]
    assert coordinator.counts()[PartitionStatus.UNASSIGNED] == 3


def test_l7_a_lost_lease_interrupts_its_own_action_only(process, coordinator, session):
    """By tag: what another session does on the same server goes on."""
    work, took = interrupted_by(lambda: coordinator.people.release("a", by="ana", why="test"))
    others = {}
    going_on = threading.Thread(target=lambda: others.update(rows=_slow(session)))
    going_on.start()
    found = process(work)
    assert found[0].state == "failed"
    assert took[0] < AT_ONCE
    partition = coordinator.partition("a")
    assert (partition.status, partition.failures) == (PartitionStatus.UNASSIGNED, 0)
    assert going_on.is_alive()
    session.interruptTag("theirs")
    going_on.join(60)
    assert "OPERATION_CANCELED" in others["rows"]


def _slow(session):
    session.addTag("theirs")
    try:
        return never_ending(session).collect()
    except Exception as error:
        return str(error)


def test_l2_sigterm_gives_the_lease_back_at_once(process, coordinator):
    work, took = interrupted_by(lambda: os.kill(os.getpid(), signal.SIGTERM))
    found = process(work)
    assert found[0].state == "failed"
    assert took[0] < AT_ONCE
    partition = coordinator.partition("a")
    assert (partition.status, partition.failures) == (PartitionStatus.UNASSIGNED, 0)
    assert partition.endings[-1].outcome is Outcome.GIVEN_UP


def test_s12_what_a_stopped_task_wrote_counts_never(process, coordinator, store_url, session):
    """Its block was finished, but not saved; the next run's replaces nothing and is alone."""

    def publish_and_be_stopped(spark, lease):
        publish(spark, lease)
        os.kill(os.getpid(), signal.SIGTERM)
        never_ending(spark).collect()

    assert process(publish_and_be_stopped)[0].state == "failed"
    assert process(publish)[0].state == "success"
    rows = read_completed(session, store=store_url, source="numbers", dataset="squares").collect()
    assert sorted((row.key, row.n) for row in rows) == [("a", n * n) for n in range(10)]


def test_execution_timeout_gives_the_lease_back_and_ends_its_action(process, coordinator, session):
    def work(spark, lease):
        sessions.append(spark)
        threading.Timer(1, os.kill, [os.getpid(), signal.SIGALRM]).start()  # what its alarm does, now that it works
        never_ending(spark).collect()

    sessions = []
    found = process(work, execution_timeout=timedelta(minutes=10))
    assert found[0].state == "failed"
    partition = coordinator.partition("a")
    assert (partition.status, partition.failures) == (PartitionStatus.UNASSIGNED, 0)
    assert sessions[0].is_stopped


def test_a_server_that_does_not_answer_keeps_nobody_from_stopping(process, coordinator, server, monkeypatch):
    """Neither the function nor what the task says to the server afterwards."""
    monkeypatch.setattr(connect, "ANSWER_WITHIN", 1.0)
    stopped = []

    def stop_both():
        stopped.append(time.monotonic())
        server.process.send_signal(signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGTERM)

    work, took = interrupted_by(stop_both)
    try:
        found = process(work)
        assert time.monotonic() - stopped[0] < 2 * AT_ONCE
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert found[0].state == "failed"
    assert took[0] < AT_ONCE
    assert coordinator.partition("a").endings[-1].outcome is Outcome.GIVEN_UP


def test_an_output_root_that_the_server_does_not_see_is_refused(process, coordinator, tmp_path, capfd):
    """Or its files would be found by nobody, and every block would be empty."""
    (tmp_path / "mine").mkdir()
    own = os.open(tmp_path / "mine", os.O_RDONLY)
    found = process(publish, output_root=f"/proc/self/fd/{own}/out")
    os.close(own)
    assert found[0].state == "failed"
    assert coordinator.partition("a").endings == ()
    assert "is not the same place for the Spark Connect server as for this task: Analysis" in capfd.readouterr().out


def test_a_token_is_nowhere_when_no_session_can_be_made(process, coordinator, server, monkeypatch, caplog, capfd):
    """It makes the client speak TLS, which this server does not."""
    said = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": server.port, "password": "canary/9 token"}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_CONNECT_DEFAULT", json.dumps(said))
    monkeypatch.setattr(connect, "CONNECT_WITHIN", 2.0)
    caplog.set_level(logging.DEBUG)
    [ti] = process(publish).values()
    assert ti.state == "failed"
    assert coordinator.partition("a").endings == ()
    output = "".join(capfd.readouterr()) + caplog.text
    assert "does not answer within 2 seconds" in output
    assert "canary" not in output
