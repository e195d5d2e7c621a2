"""Files below an address, on local paths and in object stores, through one library (fsspec)."""

from __future__ import annotations

import os
import posixpath
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow_coordination.leases.errors import InvalidInputError
from airflow_coordination.outputs.errors import OutputError

try:
    import fsspec
except ModuleNotFoundError:  # the operator's archive brings one for images that lack it
    sys.path.append(str(Path(__file__).parents[2] / "vendored"))
    import fsspec

PARALLEL_REQUESTS = 16
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
"""Hadoop's names for what fsspec calls otherwise."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file as a listing shows it.

    :param path: relative to the directory that was listed.
    :param size: in bytes.
    :param modified: when it was last written, if the storage says so.
    """

    path: str
    size: int
    modified: datetime | None


def normal_root(output_root: object) -> str:
    """Return ``output_root`` as it goes into addresses: a URL without a trailing slash, or an absolute local path.

    :raises InvalidInputError: when it is neither text nor a path, or empty.
    """
    if not isinstance(output_root, str | os.PathLike) or not os.fspath(output_root):
        raise InvalidInputError(
            "output_root", output_root, "is no address", "Give a directory or a URL such as s3a://…"
        )
    root = str(os.fspath(output_root))
    if root.startswith("file:"):
        root = "/" + root.removeprefix("file:").lstrip("/")
    return root.rstrip("/") if "://" in root else os.path.abspath(root)


def join(address: str, *parts: str) -> str:
    """Return the address of something below ``address``."""
    return posixpath.join(address, *parts)


def parent(address: str) -> str:
    """Return the address of the directory that ``address`` is in."""
    return posixpath.dirname(address)


def is_local(address: str) -> bool:
    """Return whether ``address`` is a path of this machine."""
    return "://" not in address


def write_bytes(address: str, content: bytes) -> None:
    """Write a whole file, its directory included."""
    filesystem, path = _open(address)
    with _wrapped("write a file", address):
        filesystem.makedirs(posixpath.dirname(path), exist_ok=True)
        filesystem.pipe_file(path, content)


def read_bytes(address: str, start: int | None = None, end: int | None = None) -> bytes:
    """Return a file, or its bytes from ``start`` up to ``end``.

    :raises FileNotFoundError: when there is none.
    """
    filesystem, path = _open(address)
    with _wrapped("read a file", address):
        return bytes(filesystem.cat_file(path, start=start, end=end))


def read_many(addresses: list[str]) -> list[bytes | FileNotFoundError]:
    """Return files in the given order, a :class:`FileNotFoundError` in the place of a missing one."""

    def read(address: str) -> bytes | FileNotFoundError:
        try:
            return read_bytes(address)
        except FileNotFoundError as error:
            return error

    if len(addresses) < 2:
        return [read(address) for address in addresses]
    with ThreadPoolExecutor(PARALLEL_REQUESTS) as pool:
        return list(pool.map(read, addresses))


def list_files(address: str) -> list[StoredFile]:
    """Return every file below ``address``, by path; none if there is no such directory."""
    filesystem, path = _open(address)
    with _wrapped("list a directory", address):
        filesystem.invalidate_cache(path)
        found: dict[str, dict[str, Any]] = filesystem.find(path, detail=True)
    files = [
        StoredFile(posixpath.relpath(name, path), int(info["size"] or 0), _modified(info))
        for name, info in found.items()
    ]
    return sorted(files, key=lambda file: file.path)


def delete(address: str) -> None:
    """Delete a file or a directory with all that is below it; no error if it is gone."""
    filesystem, path = _open(address)
    with _wrapped("delete", address):
        filesystem.invalidate_cache(path)
        try:
            filesystem.rm(path, recursive=True)
        except FileNotFoundError:
            return


def _open(address: str) -> tuple[Any, str]:
    scheme, separator, rest = address.partition("://")
    if separator:
        address = f"{_SCHEMES.get(scheme, scheme)}://{rest}"
    try:
        filesystem, path = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise OutputError(
            "use this storage", address, f"needs a library that is not here ({error})", "Install it where this runs"
        ) from error
    return filesystem, path.rstrip("/")


@contextmanager
def _wrapped(action: str, address: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, OutputError):
        raise
    except Exception as error:  # every storage has exceptions of its own
        problem = f"answers {type(error).__name__}: {error}"
        raise OutputError(action, address, problem, "Check that this process may read and write there") from error


def _modified(info: dict[str, Any]) -> datetime | None:
    value = next(
        (info[name] for name in ("mtime", "LastModified", "last_modified", "updated", "created") if info.get(name)),
        None,
    )
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return None
