"""A driver's processes are ended all together."""

import signal
import subprocess
import sys

from airflow_coordination.submission.spark_submit import end_marked, marked_processes

NAME = "COORDINATION_TEST_MARK"


def start(code, mark):
    process = subprocess.Popen([sys.executable, "-c", code], env={NAME: mark}, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    return process


def test_whoever_started_a_process_learns_that_it_was_killed():
    """An exit code of 0 would say that its work was done."""
    process = start("import time; print('ready', flush=True); time.sleep(60)", "exit-code")
    assert end_marked(NAME, "exit-code") == 1
    assert process.wait() == -signal.SIGTERM


def test_a_process_that_does_not_listen_is_killed():
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
    process = start(deaf, "deaf")
    assert end_marked(NAME, "deaf", grace=0.2) == 1
    assert process.wait() == -signal.SIGKILL
    assert list(marked_processes(NAME, "deaf")) == []


def test_others_live_on():
    process = start("import time; print('ready', flush=True); time.sleep(60)", "other")
    assert end_marked(NAME, "mine") == 0
    assert process.poll() is None
    process.kill()
    process.wait()
