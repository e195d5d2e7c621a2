"""What this package sends to PostgreSQL, written down, so that a bare psycopg can send the very same.

The statements are taken where they enter psycopg. They are sent again to another copy of the same database, in which
everything is as it was; so each finds what it found the first time, and changes the same.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg

Sent = tuple[str | bytes, Any, bool, int]
"""A statement, its parameters, whether it answers with rows, and how many rows it found."""
_WHERE = ("host", "port", "user", "password", "dbname", "conninfo")


@dataclass
class Recording:
    """What was sent.

    :param options: how the connection was opened.
    :param parts: what was sent, in parts: the opening, then a part for each cycle.
    """

    options: dict[str, Any] = field(default_factory=dict)
    parts: list[list[Sent]] = field(default_factory=list)

    def part(self, action: Callable[[], object]) -> None:
        """Do something, and keep what it sends as one part.

        :raises RuntimeError: when nothing was sent: then it goes past the place where this listens.
        """
        self.parts.append([])
        action()
        if not self.parts[-1]:
            raise RuntimeError("nothing was sent through psycopg's cursors")

    def save(self, path: Path) -> None:
        """Write it to a file."""
        path.write_bytes(pickle.dumps(self))


@contextmanager
def recorded() -> Iterator[Recording]:
    """Listen to every cursor and connection of psycopg that this process uses."""
    recording = Recording()
    execute, connect = psycopg.Cursor.execute, psycopg.connect

    def listening(cursor: Any, query: Any, params: Any = None, **options: Any) -> Any:
        answered = execute(cursor, query, params, **options)
        recording.parts[-1].append((query, params, cursor.description is not None, cursor.rowcount))
        return answered

    def connecting(*arguments: Any, **options: Any) -> Any:
        recording.options = {name: value for name, value in options.items() if name not in _WHERE}
        return connect(*arguments, **options)

    with patch.object(psycopg.Cursor, "execute", listening), patch.object(psycopg, "connect", connecting):
        yield recording
