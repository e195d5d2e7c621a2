"""Deleting the objects that a partition was made of (Data Prepper: ``delete_s3_objects_on_read``)."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from urllib.parse import unquote

from airflow_coordination.protocol.follow_up import Carried, Place, texts_in
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.systems.objects.file_marks import FileMark, delete_marked, listed_marks, mark_of, marks
from airflow_coordination.systems.objects.listing import group_names, is_group, object_paths
from airflow_coordination.systems.objects.storage import side_by_side
from airflow_coordination.values.input_errors import InvalidInputError, printable, shown
from airflow_coordination.values.names import SEPARATOR

MAX_OBJECTS: Final = 100_000
_SHOWN: Final = 300
_BUCKET: Final = re.compile(r"s3[an]?://[^/]*/*", re.ASCII)
"""What names no object of S3."""
_DIGEST: Final = re.compile(r"[0-9a-f]{24}", re.ASCII)


@dataclass(frozen=True, slots=True)
class DeleteObjects:
    """Deletes files or objects, each only if it is still the version that the partition was made of.

    The version is what the payload says, where :func:`~airflow_coordination.sources.object_listing` has made it;
    otherwise what is there when the partition ends, or, with :meth:`as_now`, earlier. A version is an ETag and a size
    where the storage has ETags, and otherwise a size and a time. What has another version then, or is gone, is left
    alone. On S3 the request itself names the version (``If-Match``), and a versioned bucket keeps what is deleted
    behind a delete marker. The payload of a group names no versions, but its key is made of them: if one of its objects
    is not as it was listed when the partition ends, none of them is deleted.

    :param paths: addresses (``s3://``, ``s3a://``, whatever fsspec opens, or local paths), or one.
    :raises InvalidInputError: when there is none, or one is no address of an object.
    """

    paths: Sequence[str] | str
    versions: tuple[FileMark | None, ...] = ()
    left_alone: tuple[str, ...] = ()
    kind: ClassVar[str] = "delete objects"

    def __post_init__(self) -> None:
        listed = texts_in(self.paths)
        if not listed or any("\0" in path or _BUCKET.fullmatch(path) for path in listed):
            problem, remedy = "names no objects", "Give the addresses of one or more objects"
            raise InvalidInputError("paths", self.paths, problem, remedy)
        if len(listed) > MAX_OBJECTS:
            problem = f"names {len(listed):,} objects, and {MAX_OBJECTS:,} are the limit"
            raise InvalidInputError("paths", [listed[0]], problem, "Make smaller partitions")
        _check_versions(self.versions, len(listed))
        object.__setattr__(self, "paths", tuple(_address(path) for path in listed))

    @classmethod
    def of(cls, partition: Partition) -> DeleteObjects:
        """Return the deletion of what :func:`~airflow_coordination.sources.object_listing` has made a partition of.

        :raises InvalidInputError: when the payload names no object, and no group of them; when the file of a large
            group's names is missing, or is not what was written.
        :raises OutputError: when the storage of that file cannot be asked.
        """
        payload = partition.payload
        if is_group(payload):
            return cls(object_paths(payload))
        if "path" not in payload:
            problem = "names no object: it has neither path, nor base and names"
            raise InvalidInputError("payload", payload, problem, "Give DeleteObjects the addresses")
        return cls(payload["path"])

    @classmethod
    def as_now(cls, paths: Sequence[str] | str | Partition) -> DeleteObjects:
        """Return the deletion of what is there now: build it before the objects are read.

        What is deleted is then what was read, also where an object was written again between its listing and its
        reading: :meth:`of` leaves such a one alone, because nobody can tell at the ending which version was read.

        :param paths: as of the class, or the partition that a listing has made of the objects.
        :raises OutputError: when the storage cannot be asked.
        """
        return (cls.of(paths) if isinstance(paths, Partition) else cls(paths))._pinned({})

    def pinned(self, partition: Partition) -> DeleteObjects:
        """Return the deletion of the versions that were listed, or are there now.

        :raises OutputError: when the storage cannot be asked.
        """
        if self.versions:
            return self
        group = Group.of(partition)
        if group is None or set(group.addresses).isdisjoint(self.paths):
            return self._pinned(dict(_listed(partition.payload)))
        if (found := group.as_listed()) is not None:
            return self._pinned(found)
        others = self._pinned(dict.fromkeys(group.addresses))
        left = f"the objects of group {shown(partition.key)}: one of them is not what it was when it was listed"
        return DeleteObjects(others.paths, others.versions, (left,))

    def _pinned(self, listed: Mapping[str, FileMark | None]) -> DeleteObjects:
        unknown = [path for path in self.paths if path not in listed]
        known = {**listed, **dict(zip(unknown, marks(unknown), strict=True))}
        return DeleteObjects(self.paths, tuple(known[path] for path in self.paths))

    def to_json(self) -> dict[str, Any]:
        """Return addresses and versions; what was not there at the end is left out."""
        found = zip(self.paths, self.versions, strict=True)
        named = {"objects": [[path, *mark.to_json()] for path, mark in found if mark is not None]}
        return {**named, "left": list(self.left_alone)} if self.left_alone else named

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> DeleteObjects:
        """Return the deletion that was noted."""
        action = object.__new__(cls)
        paths = texts_in([path for path, *_ in found["objects"]])
        object.__setattr__(action, "paths", paths)
        object.__setattr__(action, "versions", tuple(FileMark.from_json(mark) for _, *mark in found["objects"]))
        object.__setattr__(action, "left_alone", tuple(printable(each, _SHOWN) for each in found.get("left", ())))
        if len(paths) < len(found["objects"]):
            raise TypeError("the address of an object is no text")
        return action

    def places(self) -> tuple[Place, ...]:
        """Return the objects."""
        return tuple(Place("objects", path) for path in self.paths)

    def carry_out(self) -> Carried:
        """Delete what still has its version.

        :raises OutputError: when one cannot be deleted; the others are.
        """
        objects = [(path, mark) for path, mark in zip(self.paths, self.versions, strict=True) if mark is not None]
        answers = side_by_side(lambda each: delete_marked(*each), objects)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        changed = [
            f"{path} was written again" for (path, _), deleted in zip(objects, answers, strict=True) if not deleted
        ]
        return Carried(len(objects) - len(changed), (*self.left_alone, *changed))


@dataclass(frozen=True, slots=True)
class Group:
    """A group of objects as :func:`~airflow_coordination.sources.object_listing` has made it.

    :param addresses: of its objects, in its order.
    :param first: the beginning of the first one's name, as the key has it.
    :param digest: of names and versions, the end of the key.
    """

    addresses: tuple[str, ...]
    first: str
    digest: str

    @classmethod
    def of(cls, partition: Partition) -> Group | None:
        """Return the group that a partition is, ``None`` where it is something else.

        :raises InvalidInputError: when the file of its names is missing, or is not what was written.
        :raises OutputError: when the storage of that file cannot be asked.
        """
        parts, payload = partition.key.split(SEPARATOR), partition.payload
        if len(parts) != 3 or not _DIGEST.fullmatch(parts[2]) or not is_group(payload):
            return None
        base, names = payload["base"], texts_in(group_names(payload))
        if not isinstance(base, str) or not names:
            return None
        return cls(tuple(_address(base + name) for name in names), unquote(parts[1]), parts[2])

    def as_listed(self) -> dict[str, FileMark | None] | None:
        """Return the version of each, ``None`` if they are not all those that the listing has seen.

        :raises OutputError: when the storage cannot be asked.
        """
        for look in (marks, listed_marks):
            found = look(self.addresses)
            if None in found:
                return None
            if any(self._digest(root, found) == self.digest for root in self._roots()):
                return dict(zip(self.addresses, found, strict=True))
        return None

    def _roots(self) -> Iterator[int]:
        """Yield where the first one's name may begin in its address: what is listed is not in the payload."""
        address = self.addresses[0]
        start = address.find(self.first)
        while start >= 0:
            yield start
            start = address.find(self.first, start + 1)

    def _digest(self, root: int, found: Sequence[FileMark | None]) -> str:
        pairs = zip(self.addresses, found, strict=True)
        versions = [[path[root:], mark.size, mark.etag, str(mark.modified)] for path, mark in pairs if mark]
        return group_digest(versions)


def group_digest(versions: Sequence[Sequence[object]]) -> str:
    """Return what a group's key ends with.

    :param versions: name, size, ETag and time of each of its objects.
    """
    return hashlib.sha256(json.dumps(versions).encode()).hexdigest()[:24]


def _listed(payload: Mapping[str, Any]) -> Iterator[tuple[str, FileMark]]:
    """Yield the address and version of an object that a listing has made a partition of."""
    path = payload.get("path")
    if isinstance(path, str) and path and "size" in payload:
        yield _address(path), mark_of(payload)


def _address(path: str) -> str:
    """Return a path of this machine in full; a URL stays as it is, because an object's name is taken literally."""
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    return path if "://" in path else os.path.abspath(path)


def _check_versions(versions: object, number: int) -> None:
    known = isinstance(versions, tuple) and all(each is None or isinstance(each, FileMark) for each in versions)
    if not known or (isinstance(versions, tuple) and len(versions) not in (0, number)):
        remedy = "Leave it out, or build it with DeleteObjects.as_now"
        raise InvalidInputError("versions", versions, "is not a version of each object", remedy)
