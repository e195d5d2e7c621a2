"""A driver's processes on this host: they die with their task, and can be ended all together."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Final

import psutil  # type: ignore[import-untyped]

_PR_SET_PDEATHSIG: Final = 1
_TICK: Final = 0.05
_libc = ctypes.CDLL(None)


def dying_with(parent: int) -> Callable[[], None]:
    """Return what a child runs before it becomes another program, so that the kernel ends it when its parent dies.

    :param parent: the parent's process id; a child whose parent has died already ends at once.
    """

    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def marked_processes(name: str, value: str) -> Iterator[psutil.Process]:
    """Yield the processes of this host that were given the environment variable ``name`` with this value.

    Also those whose parent has died, which no process tree shows: a Python driver outlives its JVM.
    """
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(name) == value:
                yield process
        except psutil.Error:
            continue


def end_marked(name: str, value: str, grace: float = 2.0) -> int:
    """End these processes: SIGTERM, then SIGKILL for those left after ``grace`` seconds; return how many there were."""
    found = list(marked_processes(name, value))
    _signal(found, signal.SIGTERM)
    left = _living_after(found, grace)
    _signal(left, signal.SIGKILL)
    _living_after(left, 1.0)
    return len(found)


def _living_after(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Wait until the processes are dead, but leave their exit codes to whoever started them.

    psutil's own waiting would collect those of this process's children, and ``subprocess`` would then report 0.
    """
    deadline = time.monotonic() + seconds
    while living := [process for process in processes if _lives(process)]:
        if time.monotonic() >= deadline:
            break
        time.sleep(_TICK)
    return living


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _signal(processes: list[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue
