"""Files below an address, on local paths and in object stores, through one library (fsspec)."""

from __future__ import annotations

import os
import posixpath
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from airflow_coordination.systems.objects import s3
from airflow_coordination.systems.objects.s3 import Upload
from airflow_coordination.values.errors import DeploymentError
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError, SettingsError
from airflow_coordination.values.vendored import look_among_vendored

try:
    import fsspec
except ModuleNotFoundError:  # the operator's archive brings one for images that lack it
    look_among_vendored()
    import fsspec

PARALLEL_REQUESTS = 16
Asked = TypeVar("Asked")
Answered = TypeVar("Answered")
_PATTERN = frozenset("*?[")
"""Characters that make a path a pattern for fsspec."""
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
"""Hadoop's names for what fsspec calls otherwise."""
_OBJECT_STORES = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "abfss": "adlfs", "az": "adlfs"}
"""Storages without directories, and the distribution that opens each for fsspec."""


class OutputError(CoordinationError):
    """Files of a block cannot be written, are missing, or are not what was published.

    :param what: the attempt, and its partition.
    :param address: the file or directory concerned.
    :param problem: the problem with it.
    :param remedy: the way out.
    """

    def __init__(self, what: str, address: str, problem: str, remedy: str) -> None:
        super().__init__(what, address, problem, remedy)
        self.what, self.address, self.problem, self.remedy = what, address, problem, remedy

    def __str__(self) -> str:
        return f"Cannot {self.what}: {self.address} {self.problem}. {self.remedy}"


Content = bytes | FileNotFoundError | OutputError
"""A file's content, or the reason why it cannot be read."""


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
    """Return ``output_root`` as it goes into addresses: a URL or an absolute local path, in its shortest form.

    Hadoop shortens ``//``, ``.`` and ``..`` in a URL by itself; an object store would take them literally.

    :raises InvalidInputError: when it is neither text nor a path, is empty, or chains several storages.
    """
    if not isinstance(output_root, str | os.PathLike) or not os.fspath(output_root):
        raise InvalidInputError(
            "output_root", output_root, "is no address", "Give a directory or a URL such as s3a://…"
        )
    root = str(os.fspath(output_root))
    if root.startswith("file:"):
        root = "/" + root.removeprefix("file:").lstrip("/")
    if "://" not in root:
        return os.path.abspath(root)
    if "::" in root:
        problem = 'holds "::", with which fsspec chains storages'
        raise InvalidInputError("output_root", root, problem, "Give the address of one directory without it")
    scheme, _, rest = root.partition("://")
    host, _, path = rest.partition("/")
    return f"{scheme}://{host}" + posixpath.normpath("/" + path.lstrip("/")).rstrip("/")


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
    """Write a whole file, its directory included; a bucket is never created.

    :raises OutputError: when it cannot be written.
    """
    filesystem, path = opened(address)
    with wrapped("write a file", address):
        if scheme_of(address) not in _OBJECT_STORES:
            filesystem.makedirs(posixpath.dirname(path), exist_ok=True)
        filesystem.pipe_file(path, content)


def open_to_write(address: str) -> IO[bytes]:
    """Open a new file, its directory included; it is there when it has been closed without an error.

    :raises OutputError: when it cannot be opened. What writing and closing raise is the storage's own.
    """
    filesystem, path = opened(address)
    with wrapped("write a file", address):
        if scheme_of(address) not in _OBJECT_STORES:
            filesystem.makedirs(posixpath.dirname(path), exist_ok=True)
        return cast("IO[bytes]", filesystem.open(path, "wb"))


def open_to_read(address: str) -> IO[bytes]:
    """Open a file; what reading raises is the storage's own.

    :raises FileNotFoundError: when there is none.
    :raises OutputError: when it cannot be opened.
    """
    filesystem, path = opened(address)
    with wrapped("read a file", address, may_be_missing=True):
        return cast("IO[bytes]", filesystem.open(path, "rb"))


def move(address: str, target: str) -> None:
    """Move a file within one storage, what the target lies in included; an object store copies it.

    :raises OutputError: when it cannot be moved.
    """
    filesystem, path = opened(address)
    with wrapped("move a file", address):
        aim = opened(target)[1]
        if scheme_of(target) not in _OBJECT_STORES:
            filesystem.makedirs(posixpath.dirname(aim), exist_ok=True)
        filesystem.mv(path, aim)


def move_directory(address: str, target: str) -> None:
    """Move a directory to where nothing is yet, within one storage; an object store copies each of its files.

    :raises OutputError: when it cannot be moved.
    """
    if scheme_of(address) not in _OBJECT_STORES:
        move(address, target)
        return
    for file in list_files(address):
        move(join(address, file.path), join(target, file.path))


def read_bytes(address: str, start: int | None = None, end: int | None = None) -> bytes:
    """Return a file, or its bytes from ``start`` up to ``end``.

    :raises FileNotFoundError: when there is none.
    """
    filesystem, path = opened(address)
    with wrapped("read a file", address, may_be_missing=True):
        return bytes(filesystem.cat_file(path, start=start, end=end))


def read_many(addresses: list[str]) -> list[Content]:
    """Return files in the given order, or the error in the place of one: whoever needs the file raises it."""

    def read(address: str) -> Content:
        try:
            return read_bytes(address)
        except (FileNotFoundError, OutputError) as error:
            return error

    return side_by_side(read, addresses)


def side_by_side(ask: Callable[[Asked], Answered], each: Sequence[Asked]) -> list[Answered]:
    """Ask for some at a time, and return the answers in order; one alone needs no thread, which costs more than it."""
    if len(each) < 2:
        return [ask(one) for one in each]
    with ThreadPoolExecutor(min(PARALLEL_REQUESTS, len(each))) as pool:
        return list(pool.map(ask, each))


def list_files(address: str) -> list[StoredFile]:
    """Return every file below ``address``, by path; none if there is no such directory.

    :raises OutputError: when it cannot be listed.
    """
    filesystem, path = opened(address)
    with wrapped("list a directory", address):
        filesystem.invalidate_cache(path)
        found: dict[str, dict[str, Any]] = filesystem.find(path, detail=True)
    files = [
        StoredFile(posixpath.relpath(name, path), int(info["size"] or 0), _modified(info))
        for name, info in found.items()
    ]
    return sorted(files, key=lambda file: file.path)


def list_directories(address: str) -> list[str]:
    """Return the paths of all directories below ``address``, empty ones, too; an object store has none.

    :raises OutputError: when they cannot be listed.
    """
    if scheme_of(address) in _OBJECT_STORES:
        return []
    filesystem, path = opened(address)
    with wrapped("list a directory", address):
        found: dict[str, dict[str, Any]] = filesystem.find(path, withdirs=True, detail=True)
    directories = (name.rstrip("/") for name, info in found.items() if info["type"] == "directory")
    return sorted(posixpath.relpath(name, path) for name in directories if name != path)


def is_there(address: str) -> bool:
    """Return whether there is a file, or a directory with something in it, where the storage has no empty ones.

    :raises OutputError: when the storage cannot be used.
    """
    filesystem, path = opened(address)
    with wrapped("look for a directory", address):
        filesystem.invalidate_cache(path)
        return bool(filesystem.exists(path))


def delete(address: str) -> None:
    """Delete a file or a directory with all that is below it; no error if it is gone.

    :raises OutputError: when something of it cannot be deleted.
    """
    filesystem, path = opened(address)
    with wrapped("delete", address):
        if is_s3(address):
            s3.delete(filesystem, path)
            return
        filesystem.invalidate_cache(path)
        with suppress(FileNotFoundError):
            if is_local(address) or not _PATTERN.intersection(path):
                filesystem.rm(path, recursive=True)
            else:  # rm would take the address for a pattern, and delete what matches it
                for name in filesystem.find(path):
                    filesystem.rm_file(name)


def delete_file(address: str) -> None:
    """Delete one file; no error if it is gone, and a directory stays.

    :raises OutputError: when it cannot be deleted.
    """
    filesystem, path = opened(address)
    with wrapped("delete a file", address), suppress(FileNotFoundError):
        if is_s3(address):
            s3.delete_version(filesystem, path, None)
        else:
            filesystem.rm_file(path)


def delete_if_empty(address: str) -> None:
    """Delete a directory that nothing is in; any other stays, and an object store has none.

    :raises OutputError: when the storage cannot be used.
    """
    if scheme_of(address) in _OBJECT_STORES:
        return
    filesystem, path = opened(address)
    with wrapped("delete an empty directory", address):
        filesystem.invalidate_cache(path)
        with suppress(OSError):  # gone already, or filled since it was listed
            if not filesystem.ls(path, detail=False):
                filesystem.rmdir(path)


def unfinished_uploads(address: str) -> list[Upload]:
    """Return the multipart uploads below ``address`` that are neither finished nor aborted; other storages have none.

    :raises OutputError: when they cannot be listed.
    """
    filesystem, path = opened(address)
    with wrapped("list the unfinished uploads", address):
        return s3.uploads(filesystem, path) if is_s3(address) else []


def abort_upload(address: str, upload: Upload) -> None:
    """Abort one upload that was listed below ``address``; no error if it is gone.

    :raises OutputError: when it cannot be aborted.
    """
    filesystem, path = opened(address)
    with wrapped("abort an upload", join(address, upload.path)):
        s3.abort(filesystem, path, upload)


def s3_endpoint(address: str) -> str:
    """Return the endpoint of this process's S3 client; nothing is sent.

    :raises OutputError: when there is no such client here.
    """
    filesystem, _ = opened(address)
    with wrapped("make an S3 client", address):
        return s3.endpoint(filesystem)


def opened(address: str) -> tuple[Any, str]:
    """Return the file system that an address is in, and its path there.

    :raises OutputError: when its library is not here.
    """
    if is_local(address):  # literally: "::" chains file systems elsewhere
        return fsspec.filesystem("file"), address.rstrip("/")
    scheme = scheme_of(address)
    try:
        filesystem, path = fsspec.core.url_to_fs(f"{scheme}://{address.partition('://')[2]}")
    except (ImportError, ValueError) as error:
        package = _OBJECT_STORES.get(scheme)
        remedy = f"Run `pip install {package}` where this runs" if package else "Install it where this runs"
        raise OutputError("use this storage", address, f"needs a library that is not here ({error})", remedy) from error
    return filesystem, path.rstrip("/")


def scheme_of(address: str) -> str:
    """Return fsspec's name of the storage, empty for a path of this machine."""
    scheme = address.partition("://")[0] if not is_local(address) else ""
    return _SCHEMES.get(scheme, scheme)


def is_s3(address: str) -> bool:
    """Return whether an address is in S3."""
    return scheme_of(address) == "s3"


@contextmanager
def wrapped(action: str, address: str, *, may_be_missing: bool = False) -> Iterator[None]:
    """Make every storage's exceptions ours.

    :param may_be_missing: leave it to the caller what a missing file means.
    """
    try:
        yield
    except OutputError:
        raise
    except FileNotFoundError as error:
        if may_be_missing:
            raise
        remedy = "Create the bucket or directory, or correct the address; a bucket is never created here"
        raise OutputError(action, address, f"does not exist ({error})", remedy) from error
    except PermissionError as error:
        not_there = "; without s3:ListBucket, a file that does not exist is denied, too" if may_be_missing else ""
        actions = f"for S3: docs/how-to/s3.md lists the actions{not_there}"
        remedy = f"Give this process's credentials the right to it ({actions})"
        raise OutputError(action, address, f"denies access ({error})", remedy) from error
    except Exception as error:
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


def usable_root(output_root: str | None) -> str:
    """Return the root that blocks go below.

    :param output_root: normalised; ``None`` where nobody has set it.
    :raises SettingsError: when there is none.
    :raises DeploymentError: when this process cannot write below it.
    """
    if output_root is None:
        raise SettingsError("output_root", None, "is not set, so there is no place for blocks", "Set output_root")
    check_writable(output_root)
    return output_root


def check_writable(output_root: str, called: str = "output_root") -> None:
    """Refuse a local root that this process cannot write below. Object stores are asked by the first write.

    :param output_root: as the user gave it.
    :param called: what it is called in the message.
    :raises DeploymentError: naming the directory and this host.
    :raises InvalidInputError: when it is no address.
    """
    root = normal_root(output_root)
    if not is_local(root):
        return
    place = Path(root)
    there = next(each for each in (place, *place.parents) if os.path.exists(each))
    if not there.is_dir():
        problem = f"{called} {root!a} cannot be used on {socket.gethostname()!a}: {str(there)!a} is a file"
        raise DeploymentError(problem, "Give a directory")
    if not os.access(there, os.W_OK | os.X_OK):
        problem = f"{called} {root!a} cannot be used on {socket.gethostname()!a}: {str(there)!a} is not writable"
        raise DeploymentError(problem, "Give the user of this worker the right, or another directory")
