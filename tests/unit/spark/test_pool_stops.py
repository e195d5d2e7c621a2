"""A stop that reaches every function of a pool, and those that are called afterwards."""

import os
import signal
import threading

import pytest

from airflow_coordination.spark.interruption import Interrupted, Stopped, Stops


class Seen:
    """An interruption, as far as a stop sees it."""

    def __init__(self):
        self.reasons = []
        self.asked = threading.Event()

    def request(self, reason):
        self.reasons.append(reason)
        self.asked.set()


@pytest.fixture
def reason():
    return Stopped("received SIGTERM")


@pytest.fixture
def stops(reason):
    return Stops(lambda: reason)


def test_sigterm_reaches_those_that_run_and_those_that_follow(stops, reason):
    before = signal.getsignal(signal.SIGTERM)
    running, later, over = Seen(), Seen(), Seen()
    with stops.heard():
        with stops.within(over):
            pass
        with stops.within(running):
            os.kill(os.getpid(), signal.SIGTERM)
            assert running.asked.wait(10)
            with stops.within(later):
                pass
    assert (running.reasons, later.reasons[:1], over.reasons) == ([reason], [reason], [])
    assert stops.reason is reason
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_first_reason_counts(stops, reason):
    first = KeyError("first")
    assert stops.ask(first) is first
    assert stops.ask(reason) is first


def test_a_search_for_a_lease_is_cut_short(stops, reason):
    with stops.heard(), pytest.raises(Interrupted), stops.searching():
        _wait_for_ever()
    assert stops.reason is reason


def _wait_for_ever():
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(60)


def test_a_signal_in_the_moment_after_a_search_is_heard(stops, reason):
    search = stops.searching()
    with search:
        search._done.set()
        os.kill(os.getpid(), signal.SIGTERM)
    assert stops.reason is reason


def test_beside_the_main_thread_stops_are_passed_on_and_signals_are_left_alone(stops, reason):
    before = signal.getsignal(signal.SIGTERM)
    running = Seen()
    handlers = []

    def work():
        with stops.heard(), stops.within(running):
            handlers.append(signal.getsignal(signal.SIGTERM))
            stops.ask(reason)
            assert running.asked.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert (running.reasons, handlers) == ([reason], [before])
