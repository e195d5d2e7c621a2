"""The least that a lease in SQLite takes: the table, the order and the fence of ``benchmarks/postgresql/raw.py``."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any

SOURCE, OWNER = "flights", "h/d/r/t/0/1"
_LEASE = 600.0
_BUSY_SECONDS = 60.0
_TABLE = """
CREATE TABLE lease (id INTEGER PRIMARY KEY, source TEXT NOT NULL, key TEXT NOT NULL, status INT NOT NULL DEFAULT 0,
    owner TEXT, version INT NOT NULL DEFAULT 0, due REAL, state TEXT, UNIQUE (source, key));
CREATE INDEX claimable ON lease (source, status, due, id) WHERE due IS NOT NULL
"""


def _first(status: int) -> str:
    where = f"source = :source AND status = {status} AND due <= :now"
    return f"(SELECT id FROM lease WHERE {where} ORDER BY due, id LIMIT 1)"


_ACQUIRE = f"""UPDATE lease SET status = 1, owner = :owner, version = version + 1, due = :now + {_LEASE}
    WHERE id = coalesce({_first(1)}, {_first(2)}, {_first(0)}) RETURNING id, key, version, state"""
_END = "UPDATE lease SET status = 3, owner = NULL, due = NULL WHERE id = ? AND version = ? AND owner = ?"


class Raw:
    """Acquires and completes; every commit is on disk before it returns, and the engine's busy handler waits.

    :param url: ``sqlite:///path`` of a file that :meth:`fill` has filled.
    :param mode: ``queued``, or ``waiting``, which keeps the longest time of one call.
    """

    def __init__(self, url: str, mode: str) -> None:
        self._connection = _connect(url)
        self.longest = 0.0
        self.cycles: Callable[[int], None] = getattr(self, f"_{mode}")

    @staticmethod
    def fill(url: str, rows: int) -> None:
        """Make the table and its rows."""
        connection = _connect(url)
        connection.executescript(_TABLE)
        new = ((SOURCE, f"p{number:09}", time.time()) for number in range(1, rows + 1))
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO lease (source, key, due) VALUES (?, ?, ?)", new)
        connection.execute("COMMIT")
        connection.close()

    def _queued(self, count: int) -> None:
        for _ in range(count):
            self._end(self._acquire())

    def _acquire(self) -> Any:
        given = {"source": SOURCE, "owner": OWNER, "now": time.time()}
        return self._connection.execute(_ACQUIRE, given).fetchone()

    def _end(self, row: Any) -> None:
        assert self._connection.execute(_END, (row[0], row[2], OWNER)).rowcount == 1

    def _waiting(self, count: int) -> None:
        for _ in range(count):
            began = time.perf_counter()
            row = self._acquire()
            acquired = time.perf_counter()
            self._end(row)
            self.longest = max(self.longest, acquired - began, time.perf_counter() - acquired)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def _connect(url: str) -> sqlite3.Connection:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=_BUSY_SECONDS, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection
