"""All processes of a driver: itself, its JVM, executors, Python workers. They share a session, not a process group."""

from __future__ import annotations

import fcntl
import os
import signal
from contextlib import suppress
from pathlib import Path

from sqlalchemy.engine import make_url


def in_session(leader: int) -> dict[int, str]:
    """Return the state of every process of a session."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            state, _, _, session = (process / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found[int(process.name)] = state
    return found


def signal_session(leader: int, number: signal.Signals) -> None:
    """Send a signal to every process of a session."""
    for process in in_session(leader):
        with suppress(ProcessLookupError):
            os.kill(process, number)


def kill_session(leader: int) -> None:
    """Kill every process of a session, stopped ones, too."""
    while in_session(leader):
        signal_session(leader, signal.SIGKILL)


def stop(leader: int) -> None:
    """Stop every process of a session, and return when all of them are stopped."""
    while set(in_session(leader).values()) != {"T"}:
        signal_session(leader, signal.SIGSTOP)


def stop_between_writes(leader: int, store_url: str) -> None:
    """Stop a driver where it does not hold SQLite's write queue, which would stop everybody else, too."""
    while True:
        stop(leader)
        with open(f"{make_url(store_url).database}-queue", "rb") as queue:
            try:
                fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                signal_session(leader, signal.SIGCONT)
            else:
                return
