"""Marks of the version of a file that is meant, and deleting exactly that one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from airflow_coordination.systems.objects import s3
from airflow_coordination.systems.objects.storage import (
    OutputError,
    is_local,
    is_s3,
    opened,
    parent,
    side_by_side,
    wrapped,
)

_TIMES: Final = ("mtime", "LastModified", "last_modified", "updated", "modified", "created")


@dataclass(frozen=True, slots=True)
class FileMark:
    """What tells one version of a file from another.

    :param size: in bytes.
    :param modified: when it was last written, ``None`` where the storage does not say.
    :param etag: the storage's own mark, ``None`` where it has none.
    """

    size: int
    modified: datetime | None = None
    etag: str | None = None

    def is_of(self, other: FileMark) -> bool:
        """Return whether both are of one version: by their marks where both have one, otherwise by their times."""
        if self.etag and other.etag:
            return (self.size, self.etag) == (other.size, other.etag)
        return (self.size, self.modified) == (other.size, other.modified)

    def to_json(self) -> tuple[int, str | None, str | None]:
        """Return its fields."""
        return self.size, self.modified.isoformat() if self.modified else None, self.etag

    @classmethod
    def from_json(cls, found: Sequence[Any]) -> FileMark:
        """Return what :meth:`to_json` gave."""
        size, modified, etag = found
        return cls(int(size), datetime.fromisoformat(modified) if modified else None, etag)


def mark_of(info: Mapping[str, Any]) -> FileMark:
    """Return the mark in what a file system, a listing or a payload says of a file."""
    return FileMark(int(info.get("size") or 0), last_written(info), etag_of(info))


def last_written(info: Mapping[str, Any]) -> datetime | None:
    """Return the latest time there is: a file that was moved here keeps its ``mtime``, but not its ``created``."""
    moments = [moment for name in _TIMES if (moment := _moment(info.get(name)))]
    return max(moments, default=None)


def etag_of(info: Mapping[str, Any]) -> str | None:
    """Return a storage's own mark of a version, without the quotes around it."""
    value = info.get("ETag") or info.get("etag")
    return str(value).strip('"') if value else None


def marks(addresses: Sequence[str]) -> list[FileMark | None]:
    """Return the marks of the files that are there now, ``None`` for what is not, asked for side by side.

    :raises OutputError: when a storage cannot be asked, or says that one is a directory.
    """
    return side_by_side(_mark_of_a_file, addresses)


def listed_marks(addresses: Sequence[str]) -> list[FileMark | None]:
    """Return the marks of what is there now as a listing shows them: some services of S3 tell finer times there.

    :raises OutputError: when a storage cannot be asked.
    """
    return side_by_side(_listed_mark, addresses)


def delete_marked(address: str, meant: FileMark) -> bool | OutputError:
    """Delete a file if it is still the version that is meant; return whether it is gone, or why it cannot be said."""
    try:
        found = _mark(address)
        if found is None:
            return True
        return found.is_of(meant) and _deleted(address, found)
    except OutputError as error:
        return error


def _mark(address: str) -> FileMark | None:
    info = _looked_at(address)
    return None if info is None else mark_of(info)


def _mark_of_a_file(address: str) -> FileMark | None:
    info = _looked_at(address)
    if info is not None and info.get("type") == "directory":
        raise OutputError("look at a file", address, "is a directory", "Name the files in it")
    return None if info is None else mark_of(info)


def _looked_at(address: str) -> Mapping[str, Any] | None:
    filesystem, path = opened(address)
    with wrapped("look at a file", address, may_be_missing=True):
        try:
            if is_s3(address):
                return s3.look(filesystem, path)
            filesystem.invalidate_cache(path)
            return dict(filesystem.info(path))
        except FileNotFoundError:
            if is_local(address) and not filesystem.isdir(parent(path)):
                problem, remedy = "is in a directory that this machine has not", "Do it where the directory is"
                raise OutputError("look at a file", address, problem, remedy) from None
            return None


def _listed_mark(address: str) -> FileMark | None:
    if not is_s3(address):
        return _mark(address)
    filesystem, path = opened(address)
    with wrapped("look at a file", address):
        found = s3.listed(filesystem, path)
        return mark_of(found) if found else None


def _deleted(address: str, found: FileMark) -> bool:
    filesystem, path = opened(address)
    with wrapped("delete a file", address, may_be_missing=True):
        try:
            if is_s3(address):
                return s3.delete_version(filesystem, path, found.etag)
            filesystem.rm_file(path)
        except FileNotFoundError:
            pass
        return True


def _moment(value: object) -> datetime | None:
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return None
