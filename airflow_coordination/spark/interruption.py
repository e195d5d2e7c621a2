"""Stops a running partition function: first its Spark jobs, then the function itself (promise L7)."""

from __future__ import annotations

import ctypes
import logging
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import TypeVar

from airflow_coordination.spark.fork_safety import SignalHandler

log = logging.getLogger(__name__)
T = TypeVar("T")

GRACE = 1.5
"""Seconds a function has to come back by itself once its Spark jobs are cancelled."""
STUCK = 2.0
"""Seconds it has after it was interrupted, before it counts as stuck."""
CANCEL_AGAIN = 0.5
JVM_ENDS = 10.0
"""Seconds in which a JVM that answers no more ends, or somebody says why."""
_LOOK = 0.05


class Interrupted(BaseException):
    """Raised inside a partition function that must not go on. Do not catch it."""


class Stopped(Exception):
    """Somebody asked this driver to stop: a signal, or the end of the process that started it."""


class JvmGoneError(Stopped):
    """The JVM of this driver has died by itself, which is a failure of its work."""

    def __str__(self) -> str:
        return "The driver's JVM has died: it was killed, for example for its memory, or it crashed"


def stopped() -> BaseException:
    """Return why a driver that receives SIGTERM stops."""
    return Stopped("received SIGTERM")


class Interruption:
    """Watches over one call of a function in the calling thread. Use as a context manager around it.

    In the main thread SIGTERM becomes a request to stop.

    :param cancel: cancels the Spark jobs that run now.
    :param on_stuck: called with the reason, from another thread, when the function does not come back.
    :param why: returns the reason behind a SIGTERM.
    """

    def __init__(
        self,
        cancel: Callable[[], None],
        on_stuck: Callable[[BaseException], None] | None = None,
        why: Callable[[], BaseException] = stopped,
    ) -> None:
        self._cancel, self._on_stuck, self._why = cancel, on_stuck, why
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._forcing = False
        self._signal = SignalHandler(self._on_signal)
        self._thread = threading.current_thread()
        self._canceller: threading.Thread | None = None
        self.reason: BaseException | None = None
        """Why the function was stopped, ``None`` while it was not."""

    @property
    def _in_main_thread(self) -> bool:
        return self._thread is threading.main_thread()

    def __enter__(self) -> Interruption:
        if self._in_main_thread:
            self._signal.install()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if kind is not None and not issubclass(kind, Exception | SystemExit):
            self._cancel_beside().join(CANCEL_AGAIN)  # torn out of its wait, the function left its jobs running
        if self._in_main_thread:
            self._signal.remove()

    def call(self, function: Callable[[], T], answers: Callable[[], bool]) -> T:
        """Return what a function returns; where it fails because its JVM is about to end, wait for the reason.

        A JVM that is asked to end refuses its Python process first. That looks like the work's own failure, until
        whoever has asked ends this process, too, or it is known that the JVM has died by itself.

        :param answers: whether the JVM is still there.
        """
        try:
            return function()
        except Exception:
            until = time.monotonic() + (0 if answers() else JVM_ENDS)
            while self.reason is None and time.monotonic() < until:
                time.sleep(_LOOK)
            raise

    def request(self, reason: BaseException) -> None:
        """Stop the function because of ``reason``; the first reason counts. Returns at once."""
        with self._lock:
            if self.reason is not None or self._done.is_set():
                return
            self.reason = reason
        threading.Thread(target=self._carry_out, name="interruption", daemon=True).start()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._done.is_set():
            self._why()  # who asked is told; this call is over
            return
        if self._forcing:
            self._forcing = False
            raise Interrupted
        self.request(self._why())

    def _carry_out(self) -> None:
        if self._back_within(GRACE):
            return
        self._force()
        if self._back_within(STUCK):
            return
        if self._on_stuck is not None and self.reason is not None:
            self._on_stuck(self.reason)

    def _back_within(self, seconds: float) -> bool:
        """Cancel jobs again and again, because a function may start new ones; return whether it came back."""
        for _ in range(round(seconds / CANCEL_AGAIN)):
            self._cancel_beside()
            if self._done.wait(CANCEL_AGAIN):
                return True
        return self._done.is_set()

    def _cancel_beside(self) -> threading.Thread:
        """Cancel in a thread of its own: a Spark that does not answer must not keep the function from being stopped."""
        if self._canceller is None or not self._canceller.is_alive():
            self._canceller = threading.Thread(target=self._try_to_cancel, name="canceller", daemon=True)
            self._canceller.start()
        return self._canceller

    def _try_to_cancel(self) -> None:
        try:
            self._cancel()
        except Exception as error:  # Spark itself may be gone
            log.warning("Spark jobs could not be cancelled: %s", error)

    def _force(self) -> None:
        ident = self._thread.ident
        if ident is None or self._done.is_set():
            return
        if self._in_main_thread:
            self._forcing = True
            signal.pthread_kill(ident, signal.SIGTERM)  # wakes it from a blocking call, too
        else:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(Interrupted))
