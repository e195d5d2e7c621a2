"""The narrow part below the store: connections, transactions and the engine's exceptions."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from sqlalchemy.engine import URL, Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from airflow_coordination.leases.errors import CoordinationError
from airflow_coordination.stores.sql.calls import Call
from airflow_coordination.stores.sql.statements.dialect import Dialect, Statement

Parameters = Mapping[str, Any]
Rows = Sequence[Sequence[Any]]

_inherited: list[Engine] = []
"""Engines of a parent process. They are kept, because closing their connections here would disturb the parent."""


class Run(Protocol):
    """Executes one statement and returns its rows."""

    def __call__(self, statement: Statement, parameters: Parameters) -> Rows:
        """Return the rows, none for a statement that gives none."""


def run_on(connection: Connection) -> Run:
    """Return what executes statements on ``connection``."""

    def run(statement: Statement, parameters: Parameters) -> Rows:
        result = connection.exec_driver_sql(statement.text, statement.bind(parameters))
        return result.fetchall() if result.returns_rows else ()

    return run


class Database(ABC):
    """An engine in autocommit mode: one statement is one transaction, and none stays open between calls.

    :param url: where it is.
    :param dialect: what it says differently.
    """

    def __init__(self, url: URL, dialect: Dialect) -> None:
        self.url, self.dialect = url, dialect
        self._process = os.getpid()
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    @property
    def engine(self) -> Engine:
        """The engine of this process, made on first use; a forked child makes its own."""
        if self._engine is None or self._process != os.getpid():
            self._open()
        assert self._engine is not None
        return self._engine

    def _open(self) -> None:
        with self._lock:
            if self._process != os.getpid() and self._engine is not None:
                _inherited.append(self._engine)
                self._engine, self._process = None, os.getpid()
            if self._engine is None:
                self._engine = self.make_engine()

    @abstractmethod
    def make_engine(self) -> Engine:
        """Return a new engine."""

    @abstractmethod
    def setting_up(self) -> AbstractContextManager[Connection]:
        """Give a connection in a transaction that no other process's set-up runs beside."""

    @abstractmethod
    def meaning(self, error: DBAPIError, call: Call) -> CoordinationError:
        """Return what the engine's exception means for ``call``."""

    @abstractmethod
    def watched(self, connection: Connection) -> AbstractContextManager[object]:
        """Bound the time that a statement on ``connection`` may take."""

    def writing(self, call: Call) -> AbstractContextManager[object]:
        """Wait for this process's turn to write, where writers take turns."""
        return _no_turn()

    def fetch(self, call: Call, statement: Statement, parameters: Parameters) -> Rows:
        """Execute one statement and return its rows."""
        if not call.writes:
            return self._fetch(call, statement, parameters)
        with self.writing(call):
            return self._fetch(call, statement, parameters)

    def _fetch(self, call: Call, statement: Statement, parameters: Parameters) -> Rows:
        with self.connected(call) as connection:
            return run_on(connection)(statement, parameters)

    @contextmanager
    def connected(self, call: Call) -> Iterator[Connection]:
        """Give a connection for one call; the engine's exceptions become ours."""
        connection = self.connect(self.engine, call)
        try:
            with self.watched(connection):
                yield connection
        except DBAPIError as error:
            raise self.meaning(error, call) from error
        finally:
            connection.close()

    def connect(self, engine: Engine, call: Call) -> Connection:
        """Return a connection of ``engine``."""
        try:
            return engine.connect()
        except (DBAPIError, PoolTimeoutError) as error:
            raise self.cannot_connect(error, call) from error

    def cannot_connect(self, error: DBAPIError | PoolTimeoutError, call: Call) -> CoordinationError:
        """Return what it means that no connection could be had."""
        return call.unavailable(getattr(error, "orig", None) or error)

    def close(self) -> None:
        """Give this process's connections back."""
        if self._engine is not None and self._process == os.getpid():
            self._engine.dispose()


@contextmanager
def _no_turn() -> Iterator[None]:
    yield


Opener = Callable[[URL, Dialect], Database]
