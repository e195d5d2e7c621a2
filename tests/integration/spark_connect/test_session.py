"""The marks, counters and settings of one tenure on a session of its own."""

from __future__ import annotations

import os
import threading
import time

import pytest

from airflow_coordination.leases import Fence
from airflow_coordination.systems.spark.connect import connect_session
from airflow_coordination.systems.spark.jobs import ConnectJobs

FENCE = Fence(7, "0" * 32)


@pytest.fixture
def work(session):
    work = ConnectJobs(session, FENCE, alone=False)
    work.mark("partition 'a'")
    yield work
    work.over()
    assert session.getTags() == set()


def test_the_counters_move_while_tasks_end(work, session):
    """The no-progress watch looks at them: an action of many tasks is no hung one."""
    session.conf.set("spark.connect.progress.reportInterval", "100ms")
    seen = []
    done = threading.Event()

    def look():
        while not done.wait(0.05):
            seen.append(work.progress())

    looking = threading.Thread(target=look)
    looking.start()
    for size in (10**7, 10**8, 10**9):  # a fast machine ends a small one between two reports
        session.range(0, size, 1, 12).selectExpr("sum(hash(id))").collect()
        if len(set(seen)) > 3:
            break
    done.set()
    looking.join()
    assert len(set(seen)) > 3
    assert work.progress() == work.progress()


@pytest.mark.parametrize(("kind", "interrupted"), [("InheritableThread", True), ("Thread", False)])
def test_threads_of_the_function_carry_its_tag_if_they_inherit(work, session, kind, interrupted):
    from pyspark import InheritableThread

    errors = []

    def act():
        try:
            session.range(0, 10**14, 1, 1).selectExpr("sum(hash(id))").collect()
        except Exception as error:
            errors.append(str(error))

    thread = {
        "InheritableThread": lambda: InheritableThread(act, session=session),
        "Thread": lambda: threading.Thread(target=act),
    }[kind]()
    thread.start()
    if interrupted:
        _ended_by(work.cancel, thread)
    else:
        for _ in range(5):
            work.cancel()
            thread.join(0.3)
        assert thread.is_alive()
        _ended_by(session.interruptAll, thread)
    assert "OPERATION_CANCELED" in errors[0]


def _ended_by(interrupt, thread):
    """Interrupt until it ends: its action may not have begun yet."""
    until = time.monotonic() + 60
    while thread.is_alive():
        assert time.monotonic() < until, "it was not interrupted"
        interrupt()
        thread.join(0.3)


def test_what_only_a_server_can_set_is_refused(server):
    with pytest.raises(Exception, match="CANNOT_MODIFY"), connect_session(server.url, {"spark.executor.memory": "1g"}):
        pytest.fail("the session was given")
    assert "SPARK_CONNECT_MODE_ENABLED" not in os.environ
