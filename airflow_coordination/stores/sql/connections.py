"""The connections of one process to one database (decision 0026: why not SQLAlchemy's pool)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from airflow_coordination.stores.sql.statements.dialect import Statement

Rows = Sequence[Sequence[Any]]

BESIDE: Final = 10
"""So many more than are kept may be open at once."""


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
