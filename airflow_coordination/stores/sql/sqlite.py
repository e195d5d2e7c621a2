"""SQLite: one private file on this host, each commit on disk at once, and a queue before its write lock."""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from airflow_coordination.stores.addresses import DatabaseUrl, plain_name, public_address
from airflow_coordination.stores.calls import Call, no_schema
from airflow_coordination.stores.config import OPTION
from airflow_coordination.stores.sql.database import Connections, Database, NoneFreeError, Run, original
from airflow_coordination.stores.sql.statements import dialect
from airflow_coordination.values.input_errors import CoordinationError, SettingsError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


PRIVATE: Final = 0o600
_SUFFIXES: Final = ("", "-wal", "-shm", "-journal", "-queue")
_PLACE: Final = "Use a directory of this user's own (chmod 0700)"
_log = logging.getLogger(__name__)


def check_neighbours(file: Path) -> None:
    """Refuse a directory in which another user can put files in the place of ours; warn where one might.

    :raises SettingsError: naming the directory, or the file that belongs to somebody else.
    """
    directory = file.parent.resolve()
    found = directory.stat()
    everybody = bool(found.st_mode & stat.S_IWOTH)
    if everybody and not found.st_mode & stat.S_ISVTX:
        problem = f"its directory {directory} can be written by every user of this host"
        raise SettingsError("store", str(file), problem, _PLACE)
    if everybody:
        _refuse_strangers(file)
        _log.warning("Every user of this host can make files in %s, where the store is. %s.", directory, _PLACE)
    elif found.st_mode & stat.S_IWGRP and found.st_gid != os.getegid():
        _log.warning("A group that is not this user's own can write %s, where the store is. %s.", directory, _PLACE)


def _refuse_strangers(file: Path) -> None:
    for path, found in _existing(file):
        owner = found.st_uid
        if owner not in (os.geteuid(), 0):
            problem = f"{path} belongs to another user ({owner}), in a directory that everybody can write"
            raise SettingsError("store", str(file), problem, _PLACE)


def tighten(file: Path) -> None:
    """Take from others what they may do with the store's files, which earlier versions made readable for all.

    A database that its owner made writable for a group goes on to be the group's; its neighbours follow it.
    """
    if not file.exists():
        return
    mode = private_mode(file)
    for path, found in _existing(file):
        if found.st_uid == os.geteuid() and stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) != mode:
            with suppress(FileNotFoundError):
                path.chmod(mode)


def private_mode(file: Path) -> int:
    """Return the mode of all files of the store whose database is ``file``."""
    shared = file.exists() and file.stat().st_mode & stat.S_IWGRP
    return PRIVATE | 0o060 if shared else PRIVATE


def _existing(file: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield those files of a store that are there; its log goes when the last process closes it, at any moment."""
    for suffix in _SUFFIXES:
        path = Path(f"{file}{suffix}")
        with suppress(FileNotFoundError):
            yield path, path.lstat()


_REMEDY_FOR_LOCK: Final = "Let it be a file that this user may write"


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
                raise SettingsError(
                    "store", str(self._path), f"cannot be opened: {error.strerror}", _REMEDY_FOR_LOCK
                ) from error
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


BUSY_SECONDS: Final = 5.0
TURN_SECONDS: Final = 10.0
KEPT: Final = 5
NETWORK_FILE_SYSTEMS: Final = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "efs", "fuse.glusterfs", "fuse.grpcfuse", "fuse.osxfs", "fuse.s3fs"}
    | {"fuse.sshfs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs"}
)
"""Where write-ahead logging is not safe, or ``flock`` does not reach the other hosts."""

_REMEDY: Final = "Use a directory of a local disk, or PostgreSQL when several hosts share the store"


def file_system_of(path: Path, mounts: str) -> str:
    """Return the type of the file system that holds ``path``.

    :param mounts: the text of ``/proc/mounts``.
    """
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split()
        point = fields[1].encode().decode("unicode_escape")
        if path.is_relative_to(point) and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind


def check_place(file: Path, mounts: str | None = None) -> None:
    """Refuse places where SQLite cannot be shared safely, or not be written at all.

    :raises SettingsError: naming the file, the problem and the remedy.
    """
    directory = file.parent.resolve()
    if not directory.is_dir():
        raise SettingsError("store", str(file), f"its directory {directory} does not exist", "Create it first")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise SettingsError(
            "store", str(file), f"its directory {directory} is not writable", "Give this user the right"
        )
    if file.is_dir():
        raise SettingsError("store", str(file), "is a directory", "Give the path of a file")
    check_neighbours(file)
    if mounts is None:
        table = Path("/proc/mounts")
        mounts = table.read_text(errors="replace") if table.exists() else ""
    kind = file_system_of(directory, mounts)
    if kind in NETWORK_FILE_SYSTEMS:
        raise SettingsError("store", str(file), f"is on a network file system ({kind})", _REMEDY)


class SqliteDatabase(Database):
    """One database file.

    :param url: ``sqlite:////absolute/path``.
    :raises SettingsError: when the path is missing, not absolute, not writable or on a network file system.
    """

    driver_error = sqlite3.Error

    def __init__(self, url: DatabaseUrl) -> None:
        super().__init__(url, dialect.sqlite())
        if unknown := url.query.keys() - {OPTION}:
            remedy = "Leave it out; it is for PostgreSQL"
            raise SettingsError(
                "store",
                public_address(url.text()),
                f"has options that SQLite does not know: {', '.join(map(plain_name, sorted(unknown)))}",
                remedy,
            )
        path = url.database or ""
        if not path.startswith("/"):
            raise SettingsError(
                "store", public_address(url.text()), "is not an absolute path", "Write sqlite:////absolute/path.db"
            )
        self.file = Path(path)
        check_place(self.file)
        self._queue = WriteLock(Path(f"{path}-queue"), TURN_SECONDS, mode=lambda: private_mode(self.file))

    def make_connections(self) -> Connections:
        """Return connections to the file, which must exist."""
        tighten(self.file)
        return Connections(self._open_file, keep=KEPT, seconds=BUSY_SECONDS)

    def _open_file(self) -> Any:
        address = f"file:{quote(str(self.file))}?mode=rw"
        connection = sqlite3.connect(
            address,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            uri=True,
        )
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def close(self) -> None:
        """Give this process's connections back, and its place in the queue of writers."""
        super().close()
        self._queue.close()

    def writing(self, call: Call) -> AbstractContextManager[object]:
        """Wait in the queue that all writers of this host form."""
        return self._queue.turn(call)

    @contextmanager
    def transaction(self, call: Call) -> Iterator[Run]:
        """Hold the write lock for several statements."""
        with self.writing(call), self.connected(call) as connected, _immediate(connected.connection):
            yield connected.run

    @contextmanager
    def setting_up(self) -> Iterator[Connection]:
        """Give a connection that holds the write lock; the file comes into being here."""
        from sqlalchemy import create_engine
        from sqlalchemy.exc import DBAPIError
        from sqlalchemy.pool import NullPool

        call = Call("set up the store")
        with self.writing(call):
            self.file.touch(mode=PRIVATE)
            tighten(self.file)
            engine = create_engine(
                "sqlite://", creator=self._open_file, poolclass=NullPool, isolation_level="AUTOCOMMIT"
            )
            try:
                with engine.connect() as connection:
                    connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                    with _immediate(connection.connection.dbapi_connection):
                        yield connection
            except DBAPIError as error:
                raise self.meaning(original(error), call) from error

    def cannot_connect(self, error: BaseException, call: Call) -> CoordinationError:
        """Return what it means that the file cannot be opened; only a set-up makes it."""
        if not self.file.exists():
            return no_schema(str(self.file), "it does not exist yet")
        if isinstance(error, NoneFreeError):
            return call.unavailable("all its connections are busy")
        return self.meaning(error, call)

    def meaning(self, error: BaseException, call: Call) -> CoordinationError:
        """Return what SQLite's error code means."""
        cause, code = error, getattr(error, "sqlite_errorcode", 0) & 0xFF
        if "no such table" in str(cause) or "no such column" in str(cause):
            return no_schema(str(self.file))
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            return call.unavailable(f"{cause} ({self.file})")
        if code == sqlite3.SQLITE_IOERR:
            return call.lost(f"{cause} ({self.file})")
        if code == sqlite3.SQLITE_FULL:
            return call.throttled(f"the disk of {self.file} is full ({cause})")
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return call.refused(f"{self.file} is no SQLite database, or damaged ({cause})", "Restore a backup")
        return call.refused(cause)


@contextmanager
def _immediate(connection: Any) -> Iterator[None]:
    """Hold the write lock of a driver's connection."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
