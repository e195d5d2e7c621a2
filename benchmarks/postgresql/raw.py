"""The least that a lease in PostgreSQL takes: one small table, one statement a step, through psycopg's own cursor.

It keeps the order in which partitions are acquired (leases that have ended, then what is due again, then what waits),
a version that fences the owner, and nothing else: no progress, no counts, no generations, no ring of operations. Its
ratio says what all of that costs.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg

SOURCE, OWNER = "flights", "h/d/r/t/0/1"
TABLE = """
CREATE TABLE lease (
    id bigserial PRIMARY KEY, source text NOT NULL, key text COLLATE "C" NOT NULL, status int NOT NULL DEFAULT 0,
    owner text, version bigint NOT NULL DEFAULT 0, due timestamptz NOT NULL DEFAULT now(), state text,
    UNIQUE (source, key));
CREATE INDEX ON lease (source, status, due, id) WHERE status < 3
"""
ROWS = "INSERT INTO lease (source, key) SELECT %s, 'p' || lpad(n::text, 9, '0') FROM generate_series(1, %s) AS n"


def _first(status: int) -> str:
    return f"""(SELECT id FROM lease WHERE source = %(source)s AND status = {status} AND due <= now()
        ORDER BY due, id LIMIT 1 FOR UPDATE SKIP LOCKED)"""


_TAKE = "UPDATE lease SET status = 1, owner = %(owner)s, version = version + 1, due = now() + interval '600 s'"
_GIVE = "RETURNING id, key, version, state"
_END = "UPDATE lease SET status = 3, owner = NULL WHERE id = %(id)s AND version = %(version)s AND owner = %(owner)s"
_FIRST = f"coalesce({_first(1)}, {_first(2)}, {_first(0)})"
ACQUIRE = f"{_TAKE} WHERE id = {_FIRST} {_GIVE}"
HINTED = f"{_TAKE} WHERE source = %(source)s AND key = %(key)s AND (status = 0 OR status < 3 AND due <= now()) {_GIVE}"
FUSED = f"WITH ended AS ({_END} RETURNING id) {_TAKE} WHERE EXISTS (SELECT FROM ended) AND id = {_FIRST} {_GIVE}"


class Raw:
    """Acquires and completes.

    :param url: a database that :meth:`fill` has filled.
    :param mode: ``queued`` acquires the first in the order, ``hinted`` by key, ``fused`` completes and acquires the
        next in one statement, ``acquired`` leaves the completing to :meth:`settle`.
    """

    def __init__(self, url: str, mode: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True, prepare_threshold=0)
        self._cursor = self._connection.cursor()
        self._given = {"source": SOURCE, "owner": OWNER}
        self._next = 0
        self._held: tuple[int, str, int, str] | None = None
        self._open: list[tuple[int, str, int, str]] = []
        self.cycles: Callable[[int], None] = getattr(self, f"_{mode}")

    @staticmethod
    def fill(url: str, rows: int) -> None:
        """Make the table and its rows."""
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(TABLE)
            connection.execute(ROWS, (SOURCE, rows))

    def _queued(self, count: int) -> None:
        cursor, given = self._cursor, self._given
        for _ in range(count):
            row = cursor.execute(ACQUIRE, given).fetchone()
            cursor.execute(_END, {**given, "id": row[0], "version": row[2]})
            assert cursor.rowcount == 1

    def _hinted(self, count: int) -> None:
        cursor, given = self._cursor, self._given
        for _ in range(count):
            self._next += 1
            row = cursor.execute(HINTED, {**given, "key": f"p{self._next:09}"}).fetchone()
            cursor.execute(_END, {**given, "id": row[0], "version": row[2]})
            assert cursor.rowcount == 1

    def _fused(self, count: int) -> None:
        cursor, given = self._cursor, self._given
        held = self._held or cursor.execute(ACQUIRE, given).fetchone()
        for _ in range(count):
            held = cursor.execute(FUSED, {**given, "id": held[0], "version": held[2]}).fetchone()
        self._held = held

    def _acquired(self, count: int) -> None:
        cursor, given, held = self._cursor, self._given, self._open
        for _ in range(count):
            held.append(cursor.execute(ACQUIRE, given).fetchone())

    def settle(self) -> None:
        """Complete what was only acquired."""
        for row in self._open:
            self._cursor.execute(_END, {**self._given, "id": row[0], "version": row[2]})
        self._open.clear()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()
