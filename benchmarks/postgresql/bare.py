"""Our own statements through one psycopg cursor: what remains of our cost when our Python is taken away."""

from __future__ import annotations

import pickle
from itertools import islice
from pathlib import Path

import psycopg


class Bare:
    """Sends what was recorded.

    :param url: a copy of the database that the recording began on.
    :param recording: the file.
    """

    def __init__(self, url: str, recording: str) -> None:
        found = pickle.loads(Path(recording).read_bytes())
        self._connection = psycopg.connect(url, **found.options)
        self._cursor = self._connection.cursor()
        self._parts = iter(found.parts)
        self.cycles(1)  # the opening

    def cycles(self, count: int) -> None:
        """Send what so many cycles sent, and see that each statement finds as much as it did."""
        cursor, done = self._cursor, 0
        for part in islice(self._parts, count):
            for text, given, answers, found in part:
                cursor.execute(text, given)
                assert cursor.rowcount == found
                if answers:
                    cursor.fetchall()
            done += 1
        assert done == count, "the recording has ended"

    def close(self) -> None:
        """End the connection."""
        self._connection.close()
