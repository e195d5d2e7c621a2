"""The narrow part below the store: connections, transactions and the engine's exceptions.

SQLAlchemy gives URLs, the pool and the schema. Statements go to the driver's own cursor: describing 34 columns anew
for every answer would cost more than the statement itself, and an engine's first connection asks its server several
questions, where the budget of a process's start is one read (on PostgreSQL one question more for each connection).
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import Pool, PoolProxiedConnection

from airflow_coordination.leases.errors import CoordinationError
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql.statements.dialect import Dialect, Statement

Rows = Sequence[Sequence[Any]]

_inherited: list[Pool] = []
"""Pools of a parent process. They are kept, because closing their connections here would disturb the parent."""


class Run(Protocol):
    """Executes one statement and returns its rows."""

    def __call__(self, statement: Statement, parameters: Mapping[str, Any]) -> Rows:
        """Return the rows, none for a statement that gives none."""


def run_on(connection: Any) -> Run:
    """Return what executes statements on a driver's connection."""

    def run(statement: Statement, parameters: Mapping[str, Any]) -> Rows:
        cursor = connection.cursor()
        cursor.execute(statement.text, statement.bind(parameters))
        rows: Rows = cursor.fetchall() if _gives_rows(cursor) else ()
        cursor.close()
        return rows

    return run


def _gives_rows(cursor: Any) -> bool:
    """Return whether there are rows to fetch; psycopg would make an object of each column for ``description``."""
    result = getattr(cursor, "pgresult", None)
    return bool(cursor.description if result is None else result.nfields)


class Database(ABC):
    """Connections in autocommit mode: one statement is one transaction, and none stays open between calls.

    :param url: where it is.
    :param dialect: what it says differently.
    """

    driver_error: type[Exception]
    """The base of the driver's exceptions."""

    def __init__(self, url: URL, dialect: Dialect) -> None:
        self.url, self.dialect = url, dialect
        self._process = os.getpid()
        self._pool: Pool | None = None
        self._lock = threading.Lock()

    @property
    def pool(self) -> Pool:
        """The connections of this process, made on first use; a forked child makes its own."""
        pool = self._pool
        return self._open() if pool is None or self._process != os.getpid() else pool

    def _open(self) -> Pool:
        if self._process != os.getpid():
            self._lock = threading.Lock()  # the parent's may have been held by a thread that does not exist here
        with self._lock:
            if self._process != os.getpid() and self._pool is not None:
                _inherited.append(self._pool)
                self._pool = None
            self._process = os.getpid()
            self._pool = self._pool or self.make_pool()
            return self._pool

    @abstractmethod
    def make_pool(self) -> Pool:
        """Return a new pool; also called once in every forked child."""

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
        return nullcontext()

    def writing(self, call: Call) -> AbstractContextManager[object]:
        """Wait for this process's turn to write, where writers take turns."""
        return nullcontext()

    def fetch(self, call: Call, statement: Statement, parameters: Mapping[str, Any]) -> Rows:
        """Execute one statement and return its rows."""
        turn = self.writing(call) if call.writes else nullcontext()
        with turn, self.connected(call) as connection:
            return run_on(connection)(statement, parameters)

    @contextmanager
    def connected(self, call: Call) -> Iterator[Any]:
        """Give the driver's connection for one call; its exceptions become ours."""
        checked_out = self._check_out(call)
        try:
            with self.watched(checked_out.dbapi_connection):
                yield checked_out.dbapi_connection
        except self.driver_error as error:
            if self.is_lost(checked_out.dbapi_connection):
                checked_out.invalidate()
                self.close()
            raise self.meaning(error, call) from error
        except (OverflowError, UnicodeError) as error:  # the driver cannot send the value, so nothing was sent
            raise call.refused(error, "Give a value that the database can hold") from error
        except BaseException:
            checked_out.invalidate()
            raise
        finally:
            checked_out.close()

    def is_lost(self, connection: Any) -> bool:
        """Return whether the connection is of no use any more; those pooled beside it are not trusted then either."""
        return False

    def _check_out(self, call: Call) -> PoolProxiedConnection:
        try:
            return self.pool.connect()
        except (self.driver_error, PoolTimeoutError) as error:
            raise self.cannot_connect(error, call) from error

    def cannot_connect(self, error: BaseException, call: Call) -> CoordinationError:
        """Return what it means that no connection could be had."""
        return call.unavailable(error)

    def close(self) -> None:
        """Give this process's connections back."""
        if self._process == os.getpid():
            pool, self._pool = self._pool, None
            if pool is not None:
                pool.dispose()


def original(error: BaseException) -> BaseException:
    """Return the driver's exception inside one of SQLAlchemy's."""
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
