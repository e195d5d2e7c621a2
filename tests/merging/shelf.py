"""Files of processes in virtual time: in a dictionary, and each read of several is one after the other, in steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar
from unittest.mock import patch

import fsspec
from fsspec import AbstractFileSystem
from greenlet import getcurrent, greenlet

from airflow_coordination.systems.objects import storage

SCHEME = "shelf"


class Shelf(AbstractFileSystem):
    """As much of a file system as :mod:`~airflow_coordination.systems.objects.storage` asks for."""

    protocol = SCHEME
    files: ClassVar[dict[str, bytes]] = {}

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        """Write a file."""
        self.files[path] = value

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        """Return a file.

        :raises FileNotFoundError: if there is none.
        """
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path][start:end]

    def find(
        self, path: str, maxdepth: int | None = None, withdirs: bool = False, detail: bool = False, **_: Any
    ) -> dict[str, dict[str, Any]]:
        """Return what is below a directory; there are no empty ones."""
        inside = f"{path}/"
        return {
            name: {"name": name, "size": len(content), "type": "file"}
            for name, content in self.files.items()
            if name.startswith(inside)
        }

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[str]:
        """Return the files below a directory."""
        return list(self.find(path))

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Do nothing: directories are in names only."""

    def rmdir(self, path: str) -> None:
        """Do nothing."""

    def rm(self, path: str, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Delete a file, or all below a directory."""
        for name in [*self.find(path), path]:
            self.files.pop(name, None)

    def rm_file(self, path: str) -> None:
        """Delete a file."""
        self.files.pop(path, None)


fsspec.register_implementation(SCHEME, Shelf, clobber=True)
STEPS: dict[greenlet, Callable[[], object]] = {}
"""What each thread does before it reads the next of several files: it waits, and others work."""


def _in_steps(ask: Callable[[Any], Any], each: Sequence[Any]) -> list[Any]:
    step = STEPS.get(getcurrent())
    answers = []
    for one in each:
        if step:
            step()
        answers.append(ask(one))
    return answers


@contextmanager
def shelf(name: str) -> Iterator[str]:
    """Give the address of a place for files, which are gone at the end; meanwhile nothing here reads side by side."""
    address = f"{SCHEME}://{name}"
    try:
        with patch.object(storage, "side_by_side", _in_steps):
            yield address
    finally:
        Shelf().rm(name)
