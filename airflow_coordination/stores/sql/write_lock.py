"""A queue before SQLite's write lock. Without it, whoever has just written takes the lock again, and others starve.

The queue is a ``flock`` on a file beside the database; the kernel serves its waiters in turn. A stopped process
that holds it would hang everybody, so every wait ends at a deadline.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from airflow_coordination.leases.errors import SettingsError
from airflow_coordination.stores.calls import Call

_REMEDY: Final = "Let it be a file that this user may write"


class _Waiter:
    """Waits for the file's lock in a thread of its own, because ``flock`` knows no deadline."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._wanted = threading.Semaphore(0)
        self._granted = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._waiting = self._pending = False
        threading.Thread(target=self._serve, name="coordination-write-queue", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Return whether the lock was granted within ``seconds``; if not, it is let go when it comes."""
        with self._lock:
            self._waiting = True
            if not self._pending:
                self._pending = True
                self._wanted.release()
        if self._granted.acquire(timeout=seconds):
            return True
        with self._lock:
            self._waiting = False
        return self._granted.acquire(blocking=False)

    def _serve(self) -> None:
        while True:
            self._wanted.acquire()
            fcntl.flock(self._file, fcntl.LOCK_EX)
            with self._lock:
                self._pending = False
                if self._waiting:
                    self._waiting = False
                    self._granted.release()
                else:
                    fcntl.flock(self._file, fcntl.LOCK_UN)


class WriteLock:
    """Lets one writer at a time go to the database, among all threads and processes of this host.

    :param path: the queue's file.
    :param seconds: how long a writer waits for its turn.
    :param mode: says who may open the file when it is made: whoever may read it can hold everybody up.
    """

    def __init__(self, path: Path, seconds: float, mode: Callable[[], int] = lambda: 0o600) -> None:
        self._path, self._seconds, self._mode = path, seconds, mode
        self._process = 0
        self._open_lock = threading.Lock()

    def _open(self) -> None:
        """Open the file; a forked child opens its own, because an inherited lock would be its parent's too."""
        if self._process:
            self._open_lock = threading.Lock()  # the parent's may have been held by a thread that does not exist here
        with self._open_lock:
            if self._process == os.getpid():
                return
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            try:
                self._file = os.open(self._path, flags, self._mode())
            except OSError as error:
                raise SettingsError("store", str(self._path), f"cannot be opened: {error.strerror}", _REMEDY) from error
            self._threads = threading.Lock()
            self._waiter: _Waiter | None = None
            self._process = os.getpid()

    @contextmanager
    def turn(self, call: Call) -> Iterator[None]:
        """Hold the turn for one write.

        :raises StoreUnavailableError: when it does not come in time; nothing was written.
        """
        if self._process != os.getpid():
            self._open()
        deadline = time.monotonic() + self._seconds
        if not self._threads.acquire(timeout=self._seconds):
            raise self._too_long(call)
        try:
            if not self._take(deadline):
                raise self._too_long(call)
            try:
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)
        finally:
            self._threads.release()

    def _take(self, deadline: float) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._waiter = self._waiter or _Waiter(self._file)
            return self._waiter.wait(deadline - time.monotonic())
        return True

    def _too_long(self, call: Call) -> Exception:
        return call.unavailable(
            f"another process has held the write queue {self._path} for {self._seconds:g} s; is one of them stopped?"
        )
