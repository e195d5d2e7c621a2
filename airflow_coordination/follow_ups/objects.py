"""Deleting the objects that a partition was made of (Data Prepper: ``delete_s3_objects_on_read``)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from airflow_coordination.follow_ups.protocol import Carried, texts_in
from airflow_coordination.leases.errors import InvalidInputError
from airflow_coordination.leases.partition import Partition
from airflow_coordination.outputs.file_marks import FileMark, delete_marked, mark_of, marks
from airflow_coordination.outputs.storage import join, side_by_side

MAX_OBJECTS: Final = 100_000
Marked = tuple[str, FileMark | None]
"""An address, and the version that is meant; ``None`` while that is not known."""


@dataclass(frozen=True, slots=True)
class DeleteObjects:
    """Deletes files or objects, each only if it is still the version that the partition was made of.

    The version is what the payload says, where :func:`~airflow_coordination.sources.object_listing` has made it;
    otherwise what is there when the partition ends, or, with :meth:`as_now`, earlier. A version is an ETag and a size
    where the storage has ETags, and otherwise a size and a time. What has another version then, or is gone, is left
    alone. On S3 the request itself names the version (``If-Match``), and a versioned bucket keeps what is deleted
    behind a delete marker.

    :param paths: addresses (``s3://``, ``s3a://``, whatever fsspec opens, or local paths), or one.
    :raises InvalidInputError: when there is none, or one is no address.
    """

    paths: Sequence[str] | str
    versions: tuple[FileMark | None, ...] = ()
    kind: ClassVar[str] = "delete objects"

    def __post_init__(self) -> None:
        listed = texts_in(self.paths)
        if not listed:
            problem, remedy = "names no objects", "Give the addresses of one or more objects"
            raise InvalidInputError("paths", self.paths, problem, remedy)
        if len(listed) > MAX_OBJECTS:
            problem = f"names {len(listed):,} objects, and {MAX_OBJECTS:,} are the limit"
            raise InvalidInputError("paths", [listed[0]], problem, "Make smaller partitions")
        object.__setattr__(self, "paths", tuple(_address(path) for path in listed))

    @classmethod
    def of(cls, partition: Partition) -> DeleteObjects:
        """Return the deletion of what :func:`~airflow_coordination.sources.object_listing` has made a partition of.

        :raises InvalidInputError: when the payload names no object, and no group of them.
        """
        payload = partition.payload
        if "names" in payload and "base" in payload:
            return cls([join(payload["base"], name) for name in payload["names"]])
        if "path" not in payload:
            problem = "names no object: it has neither path, nor base and names"
            raise InvalidInputError("payload", payload, problem, "Give DeleteObjects the addresses")
        return cls(payload["path"])

    @classmethod
    def as_now(cls, paths: Sequence[str] | str) -> DeleteObjects:
        """Return the deletion of what is there now: build it before the objects are read.

        :raises OutputError: when the storage cannot be asked.
        """
        return cls(paths)._pinned({})

    def pinned(self, partition: Partition) -> DeleteObjects:
        """Return the deletion of the versions that were listed, or are there now."""
        return self if self.versions else self._pinned(dict(_listed(partition.payload)))

    def _pinned(self, listed: Mapping[str, FileMark]) -> DeleteObjects:
        unknown = [path for path in self.paths if path not in listed]
        known = {**listed, **dict(zip(unknown, marks(unknown), strict=True))}
        return DeleteObjects(self.paths, tuple(known[path] for path in self.paths))

    def to_json(self) -> dict[str, Any]:
        """Return addresses and versions; what was not there at the end is left out."""
        found = zip(self.paths, self.versions, strict=True)
        return {"objects": [[path, *mark.to_json()] for path, mark in found if mark is not None]}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> DeleteObjects:
        """Return the deletion that was noted."""
        action = object.__new__(cls)
        object.__setattr__(action, "paths", tuple(path for path, *_ in found["objects"]))
        object.__setattr__(action, "versions", tuple(FileMark.from_json(mark) for _, *mark in found["objects"]))
        return action

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
        return Carried(len(objects) - len(changed), tuple(changed))


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
