"""What blocks hold, by their publishers; who reads; and deletions that wait for readers."""

from __future__ import annotations

import json
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Protocol

from airflow_coordination.outputs import collector


class Truth(Protocol):
    """What each block holds, with all that it follows: noted before it can count, found by its digest."""

    def note(self, digest: str, rows: Iterable[str]) -> None:
        """Note a block that was written."""

    def of(self, digest: str) -> list[str]:
        """Return its rows."""


class Readers(Protocol):
    """Who reads now. A pin: what a reader may still follow is deleted when it has ended, and not before."""

    def reading(self) -> object:
        """Return a context in which what can be followed from its beginning on stays."""

    def now(self) -> frozenset[str]:
        """Return the reads that go on."""


class TruthInMemory:
    """Of processes in virtual time."""

    def __init__(self) -> None:
        self._rows: dict[str, list[str]] = {}

    def note(self, digest: str, rows: Iterable[str]) -> None:
        """Note a block."""
        self._rows[digest] = list(rows)

    def of(self, digest: str) -> list[str]:
        """Return its rows."""
        return self._rows[digest]


class TruthInFiles:
    """Of real processes: a file for each block.

    :param directory: of them.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known: dict[str, list[str]] = {}

    def note(self, digest: str, rows: Iterable[str]) -> None:
        """Note a block."""
        unfinished = self._directory / f".{digest}.{os.getpid()}"
        unfinished.write_text(json.dumps(list(rows)))
        unfinished.rename(self._directory / digest)

    def of(self, digest: str) -> list[str]:
        """Return its rows."""
        if digest not in self._known:
            self._known[digest] = json.loads((self._directory / digest).read_text())
        return self._known[digest]


class ReadersInMemory:
    """Of processes in virtual time."""

    def __init__(self) -> None:
        self._numbers = count()
        self._now: set[str] = set()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read; what can be followed from now on stays meanwhile."""
        name = str(next(self._numbers))
        self._now.add(name)
        try:
            yield
        finally:
            self._now.discard(name)

    def now(self) -> frozenset[str]:
        """Return the reads that go on."""
        return frozenset(self._now)


class ReadersInFiles:
    """Of real processes: a file for each read, named by its process. Who was killed reads no more.

    :param directory: of them.
    """

    def __init__(self, directory: Path) -> None:
        self._directory, self._numbers = directory, count()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read; what can be followed from now on stays meanwhile."""
        pin = self._directory / f"{os.getpid()}.{next(self._numbers)}"
        pin.touch()
        try:
            yield
        finally:
            pin.unlink()

    def now(self) -> frozenset[str]:
        """Return the reads that go on."""
        return frozenset(name for name in os.listdir(self._directory) if _lives(int(name.partition(".")[0])))


def _lives(process: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


@dataclass
class Deletions:
    """What a collector has decided to delete, in that order: each as soon as those have ended who read at that moment.

    So it has no margin at all, and yet takes nothing away from readers.

    :param readers: who reads.
    """

    readers: Readers
    done: int = 0
    _waiting: deque[tuple[frozenset[str], str]] = field(default_factory=deque)

    def delete(self, address: str) -> None:
        """Take the place of the collector's own ``delete``."""
        self._waiting.append((self.readers.now(), address))

    def go_on(self) -> None:
        """Delete what nobody reads any more."""
        while self._waiting and not self._waiting[0][0] & self.readers.now():
            DELETE(self._waiting.popleft()[1])
            self.done += 1


DELETE = collector.delete


@dataclass
class Findings:
    """What actors have seen.

    :param counts: how often what was done.
    :param broken: violations of S12 and S21, with what shows them.
    """

    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
