"""Starts the processes of a run, kills and stops them, and starts those again that were killed."""

from __future__ import annotations

import heapq
import json
import multiprocessing
import os
import random
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from itertools import count
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, Final

from tests.processes.actor import ProcessSpec, address, driver_of
from tests.processes.stores import KILLED, STOPPED
from tests.processes.workers import run_process

PRELOADED: Final = [
    "tests.processes.workers",
    "airflow_coordination.stores.sql.postgres_store",
    "airflow_coordination.stores.sql.sqlite_store",
    "tests.processes.amazon",
]
"""What every process needs at once when it is started again."""


class Supervisor:
    """The processes of one run.

    :param draft: what all parts have in common.
    :param draw: seeded; says who is harmed.
    :param target: is a process, from its start to its end.
    :param preferred: roles that are harmed four times as often as others.
    """

    def __init__(
        self,
        draft: ProcessSpec,
        draw: random.Random,
        target: Callable[[Any], None] = run_process,
        preferred: Collection[str] = ("worker", "driver"),
    ) -> None:
        self._draft, self._draw, self._target, self._preferred = draft, draw, target, preferred
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        self._living: dict[int, tuple[BaseProcess, ProcessSpec]] = {}
        self._stopped: list[tuple[float, int, BaseProcess]] = []
        self._starts: Counter[str] = Counter()
        self._numbers = count()
        self.faults: Counter[str] = Counter()
        self.failed: list[str] = []
        """Processes that ended by themselves, and badly."""
        self._requests = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._requests.bind(address(draft.directory))
        self._requests.setblocking(False)
        self.restarts = True

    def start(self, role: str, task: str) -> None:
        """Start a task's next try."""
        self._starts[task] += 1
        tries = self._starts[task]
        self._start(replace(self._draft, role=role, task=task, tries=tries, name=f"{task}.{tries}"))

    def _start(self, spec: ProcessSpec) -> None:
        process = self._context.Process(target=self._target, args=(spec,), name=spec.name, daemon=True)
        process.start()
        self._living[process.sentinel] = (process, spec)

    def watch(self, until: float) -> None:
        """Wait until a moment of the monotonic clock; meanwhile start drivers, and again who was killed."""
        while (now := time.monotonic()) < until:
            self._continue(now)
            for ready in wait([self._requests, *self._living], timeout=self._next(until) - now):
                if ready is self._requests:
                    self._start_drivers()
                else:
                    assert isinstance(ready, int)
                    self._reap(ready)

    def _next(self, until: float) -> float:
        return min(until, self._stopped[0][0]) if self._stopped else until

    def _start_drivers(self) -> None:
        with suppress(BlockingIOError):
            while True:
                task, tries, (key, token, nonce) = json.loads(self._requests.recv(4096))
                name = f"{task}.{tries}.driver{next(self._numbers)}"
                if self.restarts:
                    self._start(driver_of(self._draft, task, tries, name, (key, token, nonce)))

    def _reap(self, sentinel: int) -> None:
        process, spec = self._living.pop(sentinel)
        process.join()
        if process.exitcode == -signal.SIGKILL:
            self.faults[KILLED] += self.restarts
        elif process.exitcode:
            self.failed.append(f"{spec.name} ended with {process.exitcode}")
        if self.restarts and spec.role != "driver":
            self.start(spec.role, spec.task)

    def kill(self) -> None:
        """Kill somebody."""
        if victim := self._victim():
            victim.kill()

    def stop(self, seconds: float) -> None:
        """Stop somebody for so long."""
        victim = self._victim()
        if victim is not None and _signalled(victim, signal.SIGSTOP):
            heapq.heappush(self._stopped, (time.monotonic() + seconds, victim.pid or 0, victim))

    def _victim(self) -> BaseProcess | None:
        asleep = {pid for _, pid, _ in self._stopped}
        able = [(process, spec) for process, spec in self._living.values() if process.pid not in asleep]
        weights = [4 if spec.role in self._preferred else 1 for _, spec in able]
        return self._draw.choices(able, weights)[0][0] if able else None

    def _continue(self, now: float) -> None:
        while self._stopped and self._stopped[0][0] <= now:
            _, _, process = heapq.heappop(self._stopped)
            self.faults[STOPPED] += _signalled(process, signal.SIGCONT)

    def end(self, seconds: float) -> None:
        """Continue everybody, and let them come to their ends; who has not after so long has failed."""
        self.restarts = False
        while self._stopped:  # not for as long as was meant, so they do not count
            _signalled(heapq.heappop(self._stopped)[2], signal.SIGCONT)
        deadline = time.monotonic() + seconds
        while self._living and time.monotonic() < deadline:
            self.watch(min(deadline, time.monotonic() + 0.2))
        self.failed += [f"{spec.name} did not end" for _, spec in self._living.values()]

    def close(self) -> None:
        """Kill who still lives."""
        self.restarts = False
        for process, _ in self._living.values():
            process.kill()
            process.join()
        self._requests.close()


def _signalled(process: BaseProcess, number: signal.Signals) -> bool:
    """Send a signal to a process; return whether it was there to get it."""
    if process.exitcode is None and process.pid:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)
            return True
    return False
