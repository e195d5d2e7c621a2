"""huey's own storage on SQLite with ``fsync``: dequeue a task, and keep its result; without its worker around it."""

from __future__ import annotations

from huey.storage import SqliteStorage


class Huey:
    """Dequeues and keeps a result.

    :param url: ``sqlite:///path`` of a file that :meth:`fill` has filled.
    """

    def __init__(self, url: str) -> None:
        self._storage = _storage(url)

    @staticmethod
    def fill(url: str, rows: int) -> None:
        """Enqueue with its own function; nobody waits for the disk here."""
        storage = _storage(url, fsync=False)
        for number in range(1, rows + 1):
            storage.enqueue(f"p{number:09}".encode())
        storage.close()

    def cycles(self, count: int) -> None:
        """Dequeue and keep a result."""
        for _ in range(count):
            key = self._storage.dequeue()
            self._storage.put_data(key.decode(), b"done", is_result=True)

    def close(self) -> None:
        """End the connection."""
        self._storage.close()


def _storage(url: str, *, fsync: bool = True) -> SqliteStorage:
    return SqliteStorage("flights", filename=url.removeprefix("sqlite:///"), fsync=fsync)
