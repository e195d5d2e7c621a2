"""Listing a directory of any file system that fsspec knows, one directory after the other."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import fsspec

from airflow_coordination.systems.objects.file_marks import etag_of, last_written
from airflow_coordination.systems.objects.listing import StoredObject
from airflow_coordination.systems.suppliers import SourceError, wrapped
from airflow_coordination.values.input_errors import InvalidInputError

_ACTION = "list a directory"
_PROBLEM: Final = "airflow_coordination: problem"
Entry = tuple[str, Mapping[str, Any]]
"""A full name, ending with ``/`` where it is a directory's (the top one's is empty), and what is known of it."""


@dataclass(frozen=True, slots=True)
class FileListing:
    """A directory, local or in any storage that fsspec has a package for.

    ``find`` and ``ls`` of fsspec return whole lists, so directories are walked one at a time: memory holds the
    directories on the way to the present one. The order is that of the full names, as an object storage has it.
    Directories that are symbolic links are not followed: they may lead around in a circle.

    :param where: a path or URL of a directory; the objects' addresses begin like it.
    :param filesystem: an open fsspec file system, or a function that returns one; ``None`` to open ``where``.
    :raises InvalidInputError: when ``where`` is empty or no text.
    """

    where: str | os.PathLike[str]
    filesystem: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        where: Any = self.where
        if not isinstance(where, str | os.PathLike) or not os.fspath(where):
            raise InvalidInputError("where", where, "is no address", "Give a directory or a URL")

    @property
    def bucket(self) -> str:
        """The directory, without a scheme."""
        return self._base.partition("://")[2].strip("/") if "://" in self._base else self._base

    @property
    def prefix(self) -> str:
        """Empty: the directory is all there is."""
        return ""

    def address(self, key: str) -> str:
        """Return the file's path, or its URL if the directory was given as one."""
        return posixpath.join(self._base, key)

    def now(self) -> datetime:
        """Return this host's time: fsspec cannot ask a storage for its own."""
        return datetime.now(UTC)

    def objects(self, prefix: str, start_after: str) -> Iterator[StoredObject]:
        """Yield the files in the order of their full names; see :class:`Listing`."""
        with wrapped(_ACTION, self._base):
            filesystem, root = self._open()
            filesystem.invalidate_cache()
            if filesystem.isfile(root):
                raise SourceError(_ACTION, self._base, "is a file", "Give the directory it is in")
            yield from _walk(filesystem, root, _entries(filesystem, root, ""), prefix, start_after)

    @property
    def _base(self) -> str:
        where = os.fspath(self.where)
        if where.startswith("file:"):
            where = "/" + where.removeprefix("file:").lstrip("/")
        return where.rstrip("/") if "://" in where else os.path.abspath(where)

    def _open(self) -> tuple[Any, str]:
        if self.filesystem is None:
            try:
                filesystem, root = fsspec.core.url_to_fs(self._base)
            except (ImportError, ValueError) as error:
                problem = f"needs a library that is not here ({error})"
                raise SourceError(_ACTION, self._base, problem, "Install it where the supplier runs") from error
            return filesystem, root.rstrip("/")
        filesystem = self.filesystem() if callable(self.filesystem) else self.filesystem
        return filesystem, filesystem._strip_protocol(self._base).rstrip("/")


def _walk(filesystem: Any, root: str, entries: list[Entry], prefix: str, start_after: str) -> Iterator[StoredObject]:
    """Yield the files among a directory's entries and below, leaving out what cannot match."""
    for name, info in entries:
        if name.endswith("/"):
            if (name.startswith(prefix) or prefix.startswith(name)) and _reaches_beyond(name, start_after):
                yield from _below(filesystem, root, name, prefix, start_after)
        elif name.startswith(prefix) and name > start_after:
            yield _stored(name, info)


def _stored(name: str, info: Mapping[str, Any]) -> StoredObject:
    """Return a file as a listing shows it; one that the system says nothing sensible of is named as such."""
    try:
        if isinstance(info.get(_PROBLEM), Exception):
            raise info[_PROBLEM]
        return StoredObject(name, int(info.get("size") or 0), last_written(info), etag_of(info))
    except (ArithmeticError, OSError, TypeError, ValueError) as error:
        return StoredObject(name, 0, problem=f"cannot be looked at: {error}")


def _below(filesystem: Any, root: str, directory: str, prefix: str, start_after: str) -> Iterator[StoredObject]:
    """Yield what is below a directory inside of the one that is listed; one that may not be read is named as such."""
    try:
        entries = _entries(filesystem, root, directory)
    except PermissionError as error:
        yield StoredObject(directory, 0, problem=f"cannot be read: {error}")
    else:
        yield from _walk(filesystem, root, entries, prefix, start_after)


def _entries(filesystem: Any, root: str, directory: str) -> list[Entry]:
    """Return one directory's entries by full name; a directory's name ends with ``/``, so that the walk is ordered."""
    path = posixpath.join(root, directory).rstrip("/")
    try:
        infos = filesystem.ls(path or "/", detail=True)
    except FileNotFoundError:  # an object storage has no empty directories, and this one may just have been deleted
        return []
    named = (_named(filesystem, directory, info) for info in infos if str(info["name"]).rstrip("/") != path)
    return sorted((entry for entry in named if entry), key=lambda entry: entry[0])


def _named(filesystem: Any, directory: str, info: Mapping[str, Any]) -> Entry | None:
    """Return an entry with its full name, ``None`` for what is neither a file nor a directory to enter."""
    linked = bool(info.get("islink"))
    if linked:
        try:
            info = filesystem.info(info["name"])
        except FileNotFoundError:
            return None
        except OSError as error:  # a link to itself, or into a directory that may not be read
            info = {**info, "type": "file", _PROBLEM: error}
    name = directory + str(info["name"]).rstrip("/").rpartition("/")[2]
    if info["type"] == "directory":
        return None if linked else (f"{name}/", info)
    return (name, info) if info["type"] == "file" else None


def _reaches_beyond(directory: str, start_after: str) -> bool:
    return directory > start_after or start_after.startswith(directory)
