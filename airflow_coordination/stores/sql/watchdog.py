"""A deadline on this side for calls that wait on a socket.

A server process that is stopped, or a network that swallows packets, answers nothing and closes nothing; its
own timeouts do not work then. One daemon thread shuts the socket of an overdue call down, which ends the call.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from typing import Final

_LOOK_SECONDS: Final = 0.25


class Watchdog:
    """Shuts sockets down whose calls take too long. A process has one, whatever the number of its stores."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: dict[int, tuple[float, int]] = {}
        self._next = 0
        self._busy = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, descriptor: int, seconds: float) -> int:
        """Shut the socket ``descriptor`` down in ``seconds``, unless the call whose number this returns has ended."""
        with self._lock:
            self._next += 1
            call = self._next
            self._calls[call] = (time.monotonic() + seconds, descriptor)
            if not self._busy.is_set():
                self._busy.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="coordination-watchdog", daemon=True)
                self._thread.start()
        return call

    def end(self, call: int) -> None:
        """Forget a call that has ended."""
        with self._lock:
            self._calls.pop(call, None)

    def _look(self) -> None:
        while self._busy.wait():
            time.sleep(_LOOK_SECONDS)
            with self._lock:
                now = time.monotonic()
                for call, (deadline, descriptor) in list(self._calls.items()):
                    if deadline <= now:
                        _shut_down(descriptor)
                        del self._calls[call]
                if not self._calls:
                    self._busy.clear()


class Watch:
    """Shuts a socket of this process down if the block takes too long; a generator would cost each statement more.

    :param descriptor: the socket.
    :param seconds: how long the block may take.
    """

    __slots__ = ("_call", "_descriptor", "_seconds", "_watchdog")

    def __init__(self, descriptor: int, seconds: float) -> None:
        self._descriptor, self._seconds = descriptor, seconds

    def __enter__(self) -> None:
        self._watchdog = _watchdog  # that of this process, also if the block forks
        self._call = self._watchdog.begin(self._descriptor, self._seconds)

    def __exit__(self, *_: object) -> None:
        self._watchdog.end(self._call)


def _begin_anew() -> None:
    """Give a forked child its own: the parent's thread is not in it, and the lock may be taken for ever."""
    global _watchdog
    _watchdog = Watchdog()


_watchdog = Watchdog()
os.register_at_fork(after_in_child=_begin_anew)


def _shut_down(descriptor: int) -> None:
    """End the connection without closing the descriptor, which its owner still holds."""
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as connection:
        connection.shutdown(socket.SHUT_RDWR)
