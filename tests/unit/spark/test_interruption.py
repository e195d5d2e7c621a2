"""Stopping a function whose Spark does not answer, and what a function leaves behind that was torn out of its wait."""

import threading
import time
from types import SimpleNamespace

import pytest

from airflow_coordination.spark.interruption import Interrupted, Interruption, Stopped
from airflow_coordination.systems.spark.session import has_jvm


def test_a_cancel_that_hangs_does_not_keep_the_function_from_being_stopped():
    """pyspark's client for Spark Connect tries for minutes to reach a server that is gone."""
    answered = threading.Event()
    woke_up_by_itself = []
    interruption = Interruption(answered.wait)
    lost = threading.Timer(0, interruption.request, [RuntimeError("the lease was lost")])
    with pytest.raises(Interrupted), interruption:
        _wait_after(lost, woke_up_by_itself)
    answered.set()
    assert woke_up_by_itself == []


def _wait_after(lost, woke_up_by_itself):
    lost.start()
    time.sleep(60)
    woke_up_by_itself.append(True)


@pytest.mark.parametrize(
    ("error", "count"), [(KeyboardInterrupt, 1), (GeneratorExit, 1), (ValueError, 0), (SystemExit, 0)]
)
def test_jobs_of_a_function_that_was_torn_out_of_its_wait_are_cancelled(error, count):
    cancelled = []
    with pytest.raises(error), Interruption(lambda: cancelled.append(1)):
        raise error
    assert len(cancelled) == count


def refused():
    raise ConnectionRefusedError("nobody listens at the JVM's port")


def test_held_eviction_a_failure_as_the_jvm_ends_waits_for_the_reason():
    """A JVM that is asked to end refuses its Python first: an eviction was charged to the partition."""
    interruption, reason = Interruption(lambda: None), Stopped("received SIGTERM")
    looked = []

    def answers():
        threading.Thread(target=interruption.request, args=[reason]).start()
        looked.append(1)
        return False

    with pytest.raises(ConnectionRefusedError), interruption:
        interruption.call(refused, answers)
    assert (interruption.reason, looked) == (reason, [1])


def test_held_eviction_a_failure_beside_a_jvm_that_answers_waits_for_nobody():
    interruption = Interruption(lambda: None)
    with pytest.raises(ConnectionRefusedError), interruption:
        interruption.call(refused, lambda: True)
    assert interruption.reason is None


@pytest.mark.parametrize("listens", [True, False])
def test_held_eviction_whether_a_jvm_is_there_is_asked_of_it(listens):
    asked = []

    def ask():
        asked.append(1)
        return 5 if listens else refused()

    gateway = SimpleNamespace(jvm=SimpleNamespace(System=SimpleNamespace(nanoTime=ask)))
    assert has_jvm(SimpleNamespace(_sc=SimpleNamespace(_gateway=gateway))) is listens
    assert asked == [1]


def test_held_eviction_spark_connect_has_no_jvm_to_wait_for():
    assert has_jvm(SimpleNamespace())
