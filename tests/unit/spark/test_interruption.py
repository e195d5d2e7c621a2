"""Stopping a function whose Spark does not answer, and what a function leaves behind that was torn out of its wait."""

import threading
import time

import pytest

from airflow_coordination.spark.interruption import Interrupted, Interruption


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
