"""SQLite: one file on a disk of its own, which is full now and then."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from airflow_coordination.stores import open_store
from tests.processes.stores import KILLED, NOTES, STOPPED

DISK_FULL: Final = "the disk full until a write was refused for it"
NEVER_FULL: Final = "on a disk that is never full: mounting one is not allowed here"
SIZE: Final = 2 << 30
_PATIENCE: Final = 60.0
"""Seconds after which the disk is given its space back even if nobody has missed any: on a busy machine many go by."""


class Disk:
    """A file system in memory that can be made as small as what is in it; mounting needs root's rights.

    :param directory: where it is mounted.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def mount(self) -> bool:
        """Mount it; return whether this is allowed here."""
        if shutil.which("mount") is None:
            return False
        command = ("mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(self.directory))
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def unmount(self) -> None:
        """Remove it with all that is in it."""
        subprocess.run(("umount", "-l", str(self.directory)), check=True)

    def fill(self) -> None:
        """Leave no space."""
        while self._resize(self._used()):  # somebody has written meanwhile
            pass

    def free(self) -> None:
        """Give the space back."""
        assert not self._resize(SIZE)

    def _used(self) -> int:
        found = os.statvfs(self.directory)
        return (found.f_blocks - found.f_bfree) * found.f_frsize

    def _resize(self, size: int) -> int:
        command = ("mount", "-o", f"remount,size={size}", str(self.directory))
        return subprocess.run(command, capture_output=True, check=False).returncode


class SqliteSetup:
    """A file on a small disk.

    :param directory: of the run.
    :param disk: holds the file; ``None`` where mounting is not allowed: then it is never full.
    """

    lease, behind = 1.0, 0.0
    rates: Mapping[str, float] = {KILLED: 5.0, STOPPED: 0.8}

    def __init__(self, directory: Path, disk: Disk | None, operator: ThreadPoolExecutor) -> None:
        self._disk, self._operator, self._notes = disk, operator, directory / NOTES
        self._notes.touch()
        file = (disk.directory if disk else directory) / "partitions.db"
        self.url = self.direct = f"sqlite:///{file}"
        self.version = f"SQLite {sqlite3.sqlite_version}" + ("" if disk else f", {NEVER_FULL}")
        self.every: Mapping[str, float] = {DISK_FULL: 2.5} if disk else {}
        self._filled = 0
        self._filling: Future[None] | None = None

    def meet(self, fault: str) -> None:
        """Ask for a fault."""
        if self._filling is None or self._filling.done():
            self._filling = self._operator.submit(self._fill)

    def calm(self) -> Counter[str]:
        """End all faults, and return how often each of them really happened."""
        if self._filling is not None:
            self._filling.result()
        return Counter({DISK_FULL: self._filled})

    def _fill(self) -> None:
        assert self._disk is not None
        known, deadline = self._notes.stat().st_size, time.monotonic() + _PATIENCE
        self._disk.fill()
        try:
            while self._notes.stat().st_size == known and time.monotonic() < deadline:
                time.sleep(0.01)
        finally:
            self._disk.free()
        self._filled += self._notes.stat().st_size > known


@contextmanager
def sqlite(directory: Path) -> Iterator[SqliteSetup]:
    """Make a file on a disk of its own."""
    disk = Disk(directory / "disk")
    disk.directory.mkdir()
    mounted = disk.mount()
    try:
        with ThreadPoolExecutor(1) as operator:
            setup = SqliteSetup(directory, disk if mounted else None, operator)
            store = open_store(setup.direct)
            store.setup()
            store.close()
            yield setup
    finally:
        if mounted:
            disk.unmount()
