"""The demo's processes: started, found again, ended; none is left behind."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from demo.place import MARK

ORDERLY = 30.0
"""Seconds that Airflow has to end by itself."""
PR_SET_PDEATHSIG = 1


def start_airflow(environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start ``airflow standalone`` in a session of its own: Ctrl-C reaches the demo only, which ends it in order."""
    with log.open("ab") as file:
        return subprocess.Popen(
            ["airflow", "standalone"],
            env=environment,
            cwd=log.parent,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_interrupt_with_parent if sys.platform == "linux" else None,
        )


def _interrupt_with_parent() -> None:
    """Have the kernel interrupt this process when the demo is killed and cannot do it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def of_demo(root: Path) -> list[psutil.Process]:
    """Return the processes that were started by the demo in ``root``, however they came about."""
    return [process for process in psutil.process_iter() if variable(process, MARK) == str(root)]


def variable(process: psutil.Process, name: str) -> str | None:
    """Return a variable of a process's environment; ``None`` when it is not set or cannot be seen."""
    try:
        text: str | None = process.environ().get(name)
    except (psutil.Error, OSError):
        return None
    return text


def end_all(airflow: subprocess.Popen[bytes] | None, root: Path) -> list[psutil.Process]:
    """End Airflow, then whatever is still there; return what could not be ended.

    ``airflow standalone`` ends its components on SIGINT; SIGTERM would orphan them.
    """
    if airflow is not None and airflow.poll() is None:
        airflow.send_signal(signal.SIGINT)
        try:
            airflow.wait(ORDERLY)
        except subprocess.TimeoutExpired:
            airflow.kill()
    for stop in (psutil.Process.terminate, psutil.Process.kill):
        left = of_demo(root)
        for process in left:
            try:
                stop(process)
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(left, timeout=5)
    if airflow is not None:
        airflow.wait()
    return of_demo(root)
