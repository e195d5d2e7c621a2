"""The narrow part below the store: connections (decision 26), transactions and the engine's exceptions.

Statements go to the driver's own cursor. SQLAlchemy, which costs a process more than its first acquisition, is imported
where a schema is set up, and nowhere else (decision 0026).
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol

from airflow_coordination.stores.addresses import DatabaseUrl
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.config import OPTION, retention_of
from airflow_coordination.stores.sql.statements.dialect import Dialect, Statement
from airflow_coordination.values.input_errors import CoordinationError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection


Rows = Sequence[Sequence[Any]]

BESIDE: Final = 10
"""Connections that may be open at once beyond those that are kept."""


class NoneFreeError(Exception):
    """All connections that there may be are at work, and none of them came back in time."""


class Connected:
    """A driver's connection, and the one cursor of all its statements: making one costs as much as a short statement.

    :param connection: in autocommit mode.
    """

    __slots__ = ("connection", "cursor")

    def __init__(self, connection: Any) -> None:
        self.connection, self.cursor = connection, connection.cursor()

    def run(self, statement: Statement, parameters: Mapping[str, Any]) -> Rows:
        """Execute one statement and return its rows, none for a statement that gives none."""
        cursor = self.cursor
        cursor.execute(statement.text, statement.bind(parameters))
        rows: Rows = cursor.fetchall() if _gives_rows(cursor) else ()
        return rows


def _gives_rows(cursor: Any) -> bool:
    """Return whether there are rows to fetch; psycopg would make an object of each column for ``description``."""
    result = getattr(cursor, "pgresult", None)
    return bool(cursor.description if result is None else result.nfields)


class Connections:
    """Connections made when they are needed; the one that came back last is taken first.

    :param connect: makes a driver's connection.
    :param keep: how many stay open when nobody uses them.
    :param seconds: how long somebody waits for one when all are at work.
    """

    def __init__(self, connect: Callable[[], Any], *, keep: int, seconds: float) -> None:
        self._connect, self._keep, self._seconds = connect, keep, seconds
        self._idle: list[Connected] = []
        self._in_use = self._waiting = 0
        self._closed = False
        self._lock = threading.Lock()
        self._came_back = threading.Condition(self._lock)

    def take(self) -> Connected:
        """Return a connection for one user.

        :raises NoneFreeError: when none came back in time.
        """
        with self._lock:
            if self._in_use >= self._keep + BESIDE:
                self._wait()
            self._in_use += 1
            if self._idle:
                return self._idle.pop()
        try:
            return Connected(self._connect())
        except BaseException:
            self._gone()
            raise

    def _wait(self) -> None:
        """Wait until one more may be in use."""
        self._waiting += 1
        try:
            if not self._came_back.wait_for(lambda: self._in_use < self._keep + BESIDE, self._seconds):
                raise NoneFreeError
        finally:
            self._waiting -= 1

    def give_back(self, one: Connected) -> None:
        """Keep a connection for the next user, or close it if there are enough or nobody wants one any more."""
        with self._lock:
            if not self._closed and len(self._idle) < self._keep:
                self._idle.append(one)
                self._in_use -= 1
                if self._waiting:
                    self._came_back.notify()
                return
        self.drop(one)

    def drop(self, one: Connected) -> None:
        """Close a connection that is of no use."""
        try:
            one.connection.close()
        finally:
            self._gone()

    def _gone(self) -> None:
        with self._lock:
            self._in_use -= 1
            if self._waiting:
                self._came_back.notify()

    def close(self) -> None:
        """Close those that nobody uses now, and the others when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for one in idle:
            one.connection.close()


_NOTHING: Final[AbstractContextManager[object]] = nullcontext()

_inherited: list[Connections] = []
"""Connections of a parent process. They are kept, because closing them here would disturb the parent."""


class Run(Protocol):
    """Executes one statement and returns its rows."""

    def __call__(self, statement: Statement, parameters: Mapping[str, Any]) -> Rows:
        """Return the rows, none for a statement that gives none."""


class Sender(Protocol):
    """Executes the statement that a function makes."""

    def __call__(self, call: Call, build: Callable[..., str], parameters: dict[str, Any]) -> Rows:
        """Return its rows."""


class Database(ABC):
    """Connections in autocommit mode: one statement is one transaction, and none stays open between calls.

    :param url: where it is, and how long the history is kept (``history_retention``).
    :param dialect: what it says differently.
    :raises SettingsError: when the retention is no number of days.
    """

    driver_error: type[Exception]
    """The base of the driver's exceptions."""

    def __init__(self, url: DatabaseUrl, dialect: Dialect) -> None:
        self.url, self.dialect = url, dialect
        self.history_retention = retention_of(url.query.get(OPTION))
        self._process = os.getpid()
        self._connections: Connections | None = None
        self._lock = threading.Lock()

    @property
    def connections(self) -> Connections:
        """The connections of this process, made on first use; a forked child makes its own."""
        connections = self._connections
        return self._open() if connections is None or self._process != os.getpid() else connections

    def _open(self) -> Connections:
        if self._process != os.getpid():
            self._lock = threading.Lock()  # the parent's may have been held by a thread that does not exist here
        with self._lock:
            if self._process != os.getpid() and self._connections is not None:
                _inherited.append(self._connections)
                self._connections = None
            self._process = os.getpid()
            self._connections = self._connections or self.make_connections()
            return self._connections

    @abstractmethod
    def make_connections(self) -> Connections:
        """Return the connections of a process that has none yet; also called once in every forked child."""

    @abstractmethod
    def setting_up(self) -> AbstractContextManager[Connection]:
        """Give a connection in a transaction that no other process's set-up runs beside."""

    def beside_writers(self) -> AbstractContextManager[Connection | None]:
        """Give a connection on which indexes are built beside the writers, where a set-up would lock them out."""
        return nullcontext()

    @abstractmethod
    def meaning(self, error: BaseException, call: Call) -> CoordinationError:
        """Return what the driver's exception means for ``call``."""

    def watched(self, connection: Any) -> AbstractContextManager[object]:
        """Bound the time that a statement on ``connection`` may take, where the driver does not."""
        return _NOTHING

    def writing(self, call: Call) -> AbstractContextManager[object]:
        """Wait for this process's turn to write, where writers take turns."""
        return _NOTHING

    def fetch(self, call: Call, statement: Statement, parameters: Mapping[str, Any]) -> Rows:
        """Execute one statement and return its rows."""
        turn = self.writing(call) if call.writes else _NOTHING
        with turn, self.connected(call) as connected:
            return connected.run(statement, parameters)

    def connected(self, call: Call) -> AbstractContextManager[Connected]:
        """Give a connection for one call; the driver's exceptions become ours."""
        return _InUse(self, call)

    def is_lost(self, connection: Any) -> bool:
        """Return whether the connection is of no use any more; those pooled beside it are not trusted then either."""
        return False

    def take(self, call: Call) -> tuple[Connections, Connected]:
        """Return a connection that nobody else uses, and where it goes back to.

        :raises CoordinationError: when none can be had.
        """
        try:
            connections = self.connections
            return connections, connections.take()
        except (self.driver_error, NoneFreeError) as error:
            raise self.cannot_connect(error, call) from error

    def cannot_connect(self, error: BaseException, call: Call) -> CoordinationError:
        """Return what it means that no connection could be had."""
        return call.unavailable(error)

    def close(self) -> None:
        """Give this process's connections back."""
        if self._process == os.getpid():
            connections, self._connections = self._connections, None
            if connections is not None:
                connections.close()


class _InUse:
    """A connection in the hands of one call; a class, because a generator would cost every statement twice as much."""

    __slots__ = ("_call", "_connected", "_connections", "_database", "_watched")

    def __init__(self, database: Database, call: Call) -> None:
        self._database, self._call = database, call

    def __enter__(self) -> Connected:
        database = self._database
        self._connections, self._connected = database.take(self._call)
        self._watched = database.watched(self._connected.connection)
        self._watched.__enter__()
        return self._connected

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._watched.__exit__(kind, error, at)
        if error is None:
            self._connections.give_back(self._connected)
        else:
            self._after(error)

    def _after(self, error: BaseException) -> None:
        """Judge the connection and the error: only what the driver itself reported leaves it in a known state."""
        database, call = self._database, self._call
        if isinstance(error, OverflowError | UnicodeError):  # the driver cannot send the value, so nothing was sent
            self._connections.give_back(self._connected)
            raise call.refused(error, "Give a value that the database can hold") from error
        if not isinstance(error, database.driver_error):
            self._connections.drop(self._connected)
            return
        if database.is_lost(self._connected.connection):
            self._connections.drop(self._connected)
            database.close()
        else:
            self._connections.give_back(self._connected)
        raise database.meaning(error, call) from error


def original(error: BaseException) -> BaseException:
    """Return the driver's exception inside one of SQLAlchemy's."""
    return getattr(error, "orig", None) or error
