"""The deadline for calls that wait on a socket."""

from __future__ import annotations

import multiprocessing
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from airflow_coordination.stores.sql.watchdog import Watch


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A connection whose other end says nothing."""
    here, there = socket.socketpair()
    here.settimeout(10)
    with here, there:
        yield here


def _waits_in_vain(silent: socket.socket) -> bool:
    with Watch(silent.fileno(), 0.1):
        return silent.recv(1) == b""


def test_a_call_that_waits_too_long_is_ended(silent: socket.socket) -> None:
    began = time.monotonic()
    assert _waits_in_vain(silent)
    assert time.monotonic() - began < 10


def test_a_call_that_ends_in_time_keeps_its_connection(silent: socket.socket) -> None:
    with Watch(silent.fileno(), 0.1):
        pass
    time.sleep(0.6)  # two looks
    silent.sendall(b"x")


def test_many_calls_are_watched_by_one_thread(silent: socket.socket) -> None:
    with ExitStack() as calls:
        for _ in range(50):
            calls.enter_context(Watch(silent.fileno(), 600))
        assert [one.name for one in threading.enumerate()].count("coordination-watchdog") == 1


def test_a_forked_child_watches_its_own_calls(silent: socket.socket) -> None:
    """Its parent's thread is not in it."""
    with Watch(silent.fileno(), 600):
        child = multiprocessing.get_context("fork").Process(target=_exits_well_if_ended, args=(silent,))
        child.start()
        child.join(60)
    assert child.exitcode == 0


def _exits_well_if_ended(silent: socket.socket) -> None:
    raise SystemExit(0 if _waits_in_vain(silent) else 1)
