"""Systems whose cycle is one new row with a payload: this package, and the plainest way that leaves out what exists."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.stores import open_store
from benchmarks.ours import OWNER, SOURCE, Ours

_TABLE = """
CREATE TABLE plain (
    source text NOT NULL, key text COLLATE "C" NOT NULL, payload text, priority int NOT NULL, ordinal bigserial,
    PRIMARY KEY (source, key));
CREATE INDEX ON plain (source, priority, ordinal)
"""
_PAGE = "CREATE TEMP TABLE page (position bigserial, source text, key text, payload text, priority int)"
_COPY = "COPY page (source, key, payload, priority) FROM STDIN"
_INSERT = """
INSERT INTO plain (source, key, payload, priority)
SELECT source, key, payload, priority FROM page ORDER BY position ON CONFLICT DO NOTHING
"""


def _path(number: int) -> str:
    return f"s3://bucket/2013/{number:09}.parquet"


class OursCreating:
    """Creates partitions through the coordinator.

    :param url: a database with an empty store.
    """

    fill = staticmethod(Ours.fill)

    def __init__(self, url: str) -> None:
        self._store = open_store(url)
        self._coordinator = SourceCoordinator(self._store, SOURCE, OWNER)
        self._made = 0

    def cycles(self, count: int) -> None:
        """Create so many."""
        first, self._made = self._made, self._made + count
        new = (PartitionIdentifier(f"p{n:09}", payload={"path": _path(n)}) for n in range(first, self._made))
        assert self._coordinator.create_partitions(new).created == count

    def close(self) -> None:
        """End the connection."""
        self._store.close()


class CopyAndInsert:
    """Copies the rows into a table of the session, and inserts from there what is new.

    :param url: a database with the empty table.
    """

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute(_PAGE)
        self._made = 0

    @staticmethod
    def fill(url: str, rows: int) -> None:
        """Make the table; it begins empty."""
        assert rows == 0
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_TABLE)

    def cycles(self, count: int) -> None:
        """Create so many, in one transaction."""
        first, self._made = self._made, self._made + count
        with self._connection.transaction(), self._connection.cursor() as cursor:
            with cursor.copy(_COPY) as copy:
                for row in _rows(first, self._made):
                    copy.write_row(row)
            cursor.execute(_INSERT)
            assert cursor.rowcount == count
            cursor.execute("TRUNCATE page")

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def _rows(first: int, end: int) -> Iterator[tuple[str, str, str, int]]:
    for number in range(first, end):
        yield SOURCE, f"p{number:09}", f'{{"path":"{_path(number)}"}}', 0
