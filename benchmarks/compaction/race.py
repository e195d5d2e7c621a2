"""Compactions beside writers, and what fails of either. The standard library only: Iceberg has nothing else there."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

WRITERS, TRIES, EVERY = 2, 20, 4
"""Threads that ingest while a compaction runs, how often each repeats what failed, and after how many writes the next
compaction begins."""


class System(Protocol):
    """A dataset that is filled, read and compacted; each by the name of its table."""

    def fill(self, table: str) -> None:
        """Take the month in, a file for each of its files."""

    def read(self, table: str) -> int:
        """Read all columns of all rows; return how many rows."""

    def compact(self, table: str) -> None:
        """Merge small files."""

    def files(self, table: str) -> tuple[int, int]:
        """Return how many files readers open, and their bytes."""

    def editions(self, table: str) -> dict[int, int]:
        """Return how many rows there are of each edition."""

    def write(self, table: str, key: str, edition: int) -> None:
        """Replace the rows of a partition by edition 1, or add those of edition 2 to it."""

    def close(self) -> None:
        """End its Spark."""


class Race:
    """Writers ingest, and a compaction begins with them, and again after some writes.

    :param system: what is tried.
    :param table: of its tables one that is filled.
    :param writes: partitions' keys with the edition that is written; each writer takes every second of them.
    """

    def __init__(self, system: System, table: str, writes: Sequence[tuple[str, int]]) -> None:
        self._system, self._table, self._writes = system, table, writes
        self._failed, self._said = Counter[str](), list[str]()
        self._written, self._changed = 0, threading.Condition()

    def run(self) -> dict[str, Any]:
        """Return what failed, by who and the exception's class."""
        writers = [threading.Thread(target=self._write, args=(number,)) for number in range(WRITERS)]
        began, compactions = time.perf_counter(), 0
        for each in writers:
            each.start()
        while self._wait_for(compactions * EVERY):
            compactions += 1
            self._attempt("compaction", self._system.compact)
        for each in writers:
            each.join()
        wall = time.perf_counter() - began
        return {"failed": dict(self._failed), "compactions": compactions, "wall": wall, "said": self._said}

    def _write(self, number: int) -> None:
        for key, edition in self._writes[number::WRITERS]:
            who = "overwrite" if edition == 1 else "append"
            if not any(self._attempt(who, self._system.write, key, edition) for _ in range(TRIES)):
                self._failed[f"{who}: given up"] += 1
            with self._changed:
                self._written += 1
                self._changed.notify_all()

    def _wait_for(self, writes: int) -> bool:
        """Wait until so many writes are done; return whether some are left."""
        every = len(self._writes)
        with self._changed:
            self._changed.wait_for(lambda: self._written >= min(writes, every))
            return self._written < every

    def _attempt(self, who: str, call: Callable[..., None], *given: Any) -> bool:
        try:
            call(self._table, *given)
        except Exception as error:
            self._failed[f"{who}: {class_of(error)}"] += 1
            self._said.append(str(error)[:300])
            return False
        return True


def class_of(error: BaseException) -> str:
    """Return the name of an exception's class, the JVM's own where it comes from there."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    return str(java.getClass().getSimpleName()) if java is not None else type(error).__name__
