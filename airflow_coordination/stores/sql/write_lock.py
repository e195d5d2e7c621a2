"""A queue before SQLite's write lock. Without it, whoever has just written takes the lock again, and others starve.

The queue is a ``flock`` on a file beside the database; the kernel serves its waiters in turn. A stopped process
that holds it would hang everybody, so every wait ends at a deadline.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from airflow_coordination.stores.calls import Call
from airflow_coordination.values.input_errors import SettingsError

_REMEDY: Final = "Let it be a file that this user may write"


class _Waiter:
    """Waits for the file's lock in a thread of its own, because ``flock`` knows no deadline.

    :param file: the thread takes a descriptor of its own of the same lock, which stays open while it waits.
    """

    def __init__(self, file: int) -> None:
        self._file = os.dup(file)
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

    def end(self) -> None:
        """End the thread, once a lock that is still to come was let go. Nobody waits any more."""
        self._wanted.release()

    def _serve(self) -> None:
        while True:
            self._wanted.acquire()
            with self._lock:
                if not self._pending:  # then it was woken for its end
                    os.close(self._file)
                    return
            fcntl.flock(self._file, fcntl.LOCK_EX)
            with self._lock:
                self._pending = False
                if self._waiting:
                    self._waiting = False
                    self._granted.release()
                else:
                    fcntl.flock(self._file, fcntl.LOCK_UN)


class _Opened:
    """The queue's file as one process has it open.

    :param file: its descriptor.
    """

    def __init__(self, file: int) -> None:
        self.file = file
        self.process = os.getpid()
        self.threads = threading.Lock()
        """Held by the thread that has the turn, or waits for it in the file's queue."""
        self._waiter: _Waiter | None = None

    def take(self, deadline: float) -> bool:
        """Return whether the file's lock was taken in time."""
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._waiter = self._waiter or _Waiter(self.file)
            return self._waiter.wait(deadline - time.monotonic())
        return True

    def close(self) -> None:
        """Close the file, whose turn nobody has; a forked child leaves its parent's alone."""
        if self.process != os.getpid():
            return
        if self._waiter is not None:
            self._waiter.end()
        os.close(self.file)


class WriteLock:
    """Lets one writer at a time go to the database, among all threads and processes of this host.

    :param path: the queue's file.
    :param seconds: how long a writer waits for its turn.
    :param mode: says who may open the file when it is made: whoever may read it can hold everybody up.
    """

    def __init__(self, path: Path, seconds: float, mode: Callable[[], int] = lambda: 0o600) -> None:
        self._path, self._seconds, self._mode = path, seconds, mode
        self._opened: _Opened | None = None
        self._end: weakref.finalize[[], WriteLock] | None = None
        self._process = 0
        self._open_lock = threading.Lock()

    def _open(self) -> _Opened:
        """Return the open file; a forked child opens its own, because an inherited lock would be its parent's too."""
        if self._process not in (0, os.getpid()):
            self._open_lock = threading.Lock()  # the parent's may have been held by a thread that does not exist here
        self._process = os.getpid()
        with self._open_lock:
            opened = self._opened
            if opened is not None and opened.process == os.getpid():
                return opened
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            try:
                opened = _Opened(os.open(self._path, flags, self._mode()))
            except OSError as error:
                raise SettingsError("store", str(self._path), f"cannot be opened: {error.strerror}", _REMEDY) from error
            self._opened, self._end = opened, weakref.finalize(self, opened.close)
            self._end.atexit = False  # threads may still write
            return opened

    def close(self) -> None:
        """Close the file, unless a writer has the turn; the next one opens it again."""
        opened = self._opened
        if opened is None or opened.process != os.getpid() or not opened.threads.acquire(blocking=False):
            return
        try:
            if opened is self._opened and self._end is not None:
                self._opened = None
                self._end()
        finally:
            opened.threads.release()

    @contextmanager
    def turn(self, call: Call) -> Iterator[None]:
        """Hold the turn for one write.

        :raises StoreUnavailableError: when it does not come in time; nothing was written.
        """
        deadline = time.monotonic() + self._seconds
        opened = self._of_this_process(call)
        try:
            if not opened.take(deadline):
                raise self._too_long(call)
            try:
                yield
            finally:
                fcntl.flock(opened.file, fcntl.LOCK_UN)
        finally:
            opened.threads.release()

    def _of_this_process(self, call: Call) -> _Opened:
        """Return the open file when no other thread of this process uses it, and none has closed it meanwhile."""
        while True:
            opened = self._opened
            if opened is None or opened.process != os.getpid():
                opened = self._open()
            if not opened.threads.acquire(timeout=self._seconds):
                raise self._too_long(call)
            if opened is self._opened:
                return opened
            opened.threads.release()

    def _too_long(self, call: Call) -> Exception:
        return call.unavailable(
            f"another process has held the write queue {self._path} for {self._seconds:g} s; is one of them stopped?"
        )
