"""SQLite: one file on this host, write-ahead log, every commit on disk before it is acknowledged."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from airflow_coordination.stores.addresses import plain_name, public_address
from airflow_coordination.stores.calls import Call, no_schema
from airflow_coordination.stores.database_url import DatabaseUrl
from airflow_coordination.stores.history_retention import OPTION
from airflow_coordination.stores.sql.connections import Connections, NoneFreeError
from airflow_coordination.stores.sql.database import Database, Run, original
from airflow_coordination.stores.sql.sqlite_files import PRIVATE, check_neighbours, private_mode, tighten
from airflow_coordination.stores.sql.statements import dialect
from airflow_coordination.stores.sql.write_lock import WriteLock
from airflow_coordination.values.input_errors import CoordinationError, SettingsError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

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
