"""Protection of processes that a partition function forks: from our handler of SIGTERM, and from the way back to us.

A fork copies the function's whole stack: the tenure, the heartbeat, the caller's clean-up. None of them is the child's.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from types import FrameType
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
