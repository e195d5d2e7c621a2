"""Why a driver stops whose parent has died: real processes, because only they have parents."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Start = Callable[[int | None], tuple[subprocess.Popen[str], int]]
DRIVER = """
import os, signal, sys, threading
from airflow_coordination.spark.application import _Parent

if os.fork():
    sys.stdin.read()  # the JVM, which dies when the test closes this
    os._exit(0)
asked = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: asked.set())
parent = _Parent(eval(sys.argv[1]))
print(os.getpid(), flush=True)
asked.wait(30)
print(type(parent.why()).__name__, flush=True)
"""


@pytest.fixture
def driver() -> Iterator[Start]:
    started = []

    def start(task_pid: int | None) -> tuple[subprocess.Popen[str], int]:
        command = [sys.executable, "-c", DRIVER, repr(task_pid)]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment))
        return started[-1], int(started[-1].stdout.readline())

    yield start
    for process in started:
        process.stdin.close()
        process.stdout.close()
        process.wait(30)


@pytest.mark.parametrize("task", ["elsewhere", "alive"])
def test_a_jvm_that_dies_alone_has_failed(driver: Start, task: str) -> None:
    process, _ = driver(None if task == "elsewhere" else os.getpid())
    process.stdin.close()
    assert process.stdout.read() == "JvmGoneError\n"


def test_a_jvm_that_dies_after_its_task_was_stopped(driver: Start) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    process, _ = driver(dead.pid)
    process.stdin.close()
    assert process.stdout.read() == "Stopped\n"


def test_a_driver_elsewhere_that_its_cluster_ends_was_stopped(driver: Start) -> None:
    process, pid = driver(None)
    os.kill(pid, signal.SIGTERM)
    assert process.stdout.readline() == "Stopped\n"
