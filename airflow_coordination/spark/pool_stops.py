"""What stops all tenures of a crew: SIGTERM, which Python gives to the main thread only, or the crew itself."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from airflow_coordination.spark.interruption import Interruption, SignalHandler


class Stops:
    """Passes a stop on to every function that runs, and to those that are called afterwards.

    :param why: returns the reason behind a SIGTERM.
    """

    def __init__(self, why: Callable[[], BaseException]) -> None:
        self._why = why
        self._asked: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._running: set[Interruption] = set()
        self._lock = threading.Lock()
        self.reason: BaseException | None = None
        """Why all tenures are stopped, ``None`` while they are not; the first reason counts."""

    def ask(self, reason: BaseException) -> BaseException:
        """Stop them all, and return the reason that counts.

        Returns at once, and takes no lock: a signal's handler calls this in the midst of anything.
        """
        counts = self.reason = self.reason or reason
        self._asked.put(counts)
        return counts

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Pass stops on while inside, and take SIGTERM, where this is the main thread."""
        threading.Thread(target=self._pass_on, name="crew-stops", daemon=True).start()
        handler = SignalHandler(self._on_signal)
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread:
            handler.install()
        try:
            yield
        finally:
            if in_main_thread:
                handler.remove()
            self._asked.put(None)

    @contextmanager
    def within(self, interruption: Interruption) -> Iterator[None]:
        """Let stops reach the function that is called inside."""
        with self._lock:
            self._running.add(interruption)
        try:
            if self.reason is not None:
                interruption.request(self.reason)
            yield
        finally:
            with self._lock:
                self._running.discard(interruption)

    def searching(self) -> Interruption:
        """Return the context of a search for a lease, which SIGTERM cuts short, too."""
        return Interruption(_nothing, why=self.asked)

    def asked(self) -> BaseException:
        """Stop them all because of a SIGTERM, and return the reason that counts."""
        return self.ask(self._why())

    def _pass_on(self) -> None:
        while (reason := self._asked.get()) is not None:
            with self._lock:
                running = list(self._running)
            for interruption in running:
                interruption.request(reason)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.asked()


def _nothing() -> None:
    """Cancel nothing: no job of Spark runs while a lease is looked for."""
