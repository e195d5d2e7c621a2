"""Stops a running partition function: its Spark jobs, then itself (promise L7); forked children are spared.

What stops all tenures of a pool is SIGTERM, which Python gives to the main thread only, or the pool itself.
"""

from __future__ import annotations

import ctypes
import logging
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Handler = Callable[[int, FrameType | None], Any]
_RETURNED: Final = (
    "The partition function returned in process {}, which it had forked: the outcome counts for nothing, and the "
    "process ends here. End a forked child with os._exit(), or use multiprocessing."
)


class SignalHandler:
    """A handler of SIGTERM that forked children do not have: they get the default one, and die of the signal.

    In the child a signal would otherwise be taken for one to the parent. It is held back from before the fork until the
    child has its own handler: Python forgets what arrives in between, and ``Pool.terminate`` would wait for ever.

    :param handler: called in the process that made this value, in its main thread.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler, self._process = handler, os.getpid()
        self._before: Any = None

    def install(self) -> None:
        """Take SIGTERM over from whoever handles it now."""
        self._before = signal.signal(signal.SIGTERM, self)
        _installed.append(self)

    def remove(self) -> None:
        """Give SIGTERM back."""
        signal.signal(signal.SIGTERM, self._before)
        if self in _installed:  # not in a forked child
            _installed.remove(self)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle one signal."""
        if os.getpid() == self._process:
            self._handler(number, frame)
        else:  # somebody's own handler in the child passed it on
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


def call_in_this_process(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what ``function`` returns, in this process only: a forked child that comes out of it ends with it.

    Neither the tenure's ending nor the clean-up of whoever called us is reached by the child: there it would stop the
    parent's Spark, and fail its task.
    """
    process = os.getpid()
    try:
        result = function(*args, **kwargs)
    except BaseException as error:
        if os.getpid() != process:
            _leave(error)
        raise
    if os.getpid() != process:
        _leave(None)
    return result


def _leave(error: BaseException | None) -> NoReturn:
    """End this process as Python would after ``error``, without anybody's clean-up."""
    code: object = 1
    try:
        if isinstance(error, SystemExit):
            code = 0 if error.code is None else error.code
            if not isinstance(code, int):
                print(code, file=sys.stderr)
        elif error is not None:
            traceback.print_exception(error)
        else:
            print(_RETURNED.format(os.getpid()), file=sys.stderr)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:  # also when the child has closed its streams: nothing may unwind from here
        os._exit(code & 0xFF if isinstance(code, int) else 1)


_installed: list[SignalHandler] = []
_masks = threading.local()


def _hold_back() -> None:
    _masks.before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}) if _installed else None


def _go_on() -> None:
    if _masks.before is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, _masks.before)


def _begin_anew() -> None:
    if signal.getsignal(signal.SIGTERM) in _installed:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if getattr(signal.getsignal(signal.SIGINT), "__module__", "") == "pyspark.core.context":
        signal.signal(signal.SIGINT, signal.default_int_handler)  # pyspark's would cancel all jobs of the parent
    _installed.clear()
    _go_on()


os.register_at_fork(before=_hold_back, after_in_parent=_go_on, after_in_child=_begin_anew)

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
        threading.Thread(target=self._pass_on, name="pool-stops", daemon=True).start()
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
