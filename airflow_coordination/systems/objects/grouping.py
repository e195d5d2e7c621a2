"""Many small objects as one partition.

A group's payload lists its objects by name. It does not give a range of names: whoever works on a range must list it
again, with the supplier's client, filters and credentials, and finds something else once an object was added, written
again or deleted. A list says the same to everybody and needs nothing. So a group has three bounds: the number of
objects, their bytes, and the 4 KB of a payload, which hold some 50 to 300 names without their common directory. Where
the supplier was given an output root, names that do not fit are in a file below it, and there are thousands.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.systems.left_out import LeftOut
from airflow_coordination.systems.objects.deletion import group_digest
from airflow_coordination.systems.objects.listing import Listing, StoredObject
from airflow_coordination.systems.objects.names_file import FIELD, MAX_BYTES, MAX_NAMES, NamesFiles
from airflow_coordination.systems.objects.storage import normal_root
from airflow_coordination.values.documents import MAX_PAYLOAD_BYTES
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import SEPARATOR, check_key, encode_part
from airflow_coordination.values.times import whole_above_zero

_FRAME: Final = len('{"base":"","bytes":,"names":[]}') + 20
_PER_NAME: Final = len('"",')
_SHOWN: Final = 200
_LONGEST_ROOT: Final = 1024
_LONGEST_BASE: Final = MAX_PAYLOAD_BYTES // 2
"""As JSON: a payload then has room for both, and for the rest of what it says of a file of names."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """The bounds of a group.

    :param max_objects: so many objects at most; ``None`` for no such bound.
    :param max_bytes: so many bytes at most; an object that is larger has a group of its own.
    :param output_root: below which names go that do not fit into a payload, normalised; ``None`` where groups end then.
    """

    max_objects: int | None = None
    max_bytes: int | None = None
    output_root: str | None = None

    @classmethod
    def of(cls, max_objects: object, max_bytes: object, output_root: object = None) -> Grouping | None:
        """Return the grouping that was asked for, ``None`` for one object per partition.

        :raises InvalidInputError: for bounds that are no whole numbers above zero, and for an output root that is no
            address, is too long for a payload, or has no groups to serve.
        """
        for name, bound in (("max_objects", max_objects), ("max_bytes", max_bytes)):
            if bound is not None:
                whole_above_zero(name, bound)
        alone = max_objects is None and max_bytes is None
        root = None if output_root is None else _root_of(output_root, alone=alone)
        return None if alone else cls(max_objects, max_bytes, root)  # type: ignore[arg-type]


def _root_of(output_root: object, *, alone: bool) -> str:
    if alone:
        problem = "is for the names of groups, and each object is a partition of its own"
        raise InvalidInputError("output_root", output_root, problem, "Give max_objects or max_bytes, or leave it out")
    root = normal_root(output_root)
    if _length(root) > _LONGEST_ROOT:
        problem = f"is too long for a payload: {_length(root):,} bytes of JSON, and {_LONGEST_ROOT:,} are the limit"
        raise InvalidInputError("output_root", output_root, problem, "Give a shorter one")
    return root


@dataclass(slots=True)
class Group:
    """The objects of one partition, in the order of their names."""

    root: str
    objects: list[StoredObject] = field(default_factory=list)
    base: str = ""
    bytes: int = 0
    _text: int = 0

    def takes(self, found: StoredObject, grouping: Grouping) -> bool:
        """Add the object and return true, unless that would exceed a bound."""
        base = _common_directory(self.base, found.key) if self.objects else _directory(found.key)
        text = self._text + _length(found.key)
        number, size = len(self.objects) + 1, self.bytes + found.size
        if self.objects and (
            (grouping.max_objects is not None and number > grouping.max_objects)
            or (grouping.max_bytes is not None and size > grouping.max_bytes)
            or number > MAX_NAMES
            or self._payload_length(base, text, number) > self._room(base, grouping)
        ):
            return False
        self.objects.append(found)
        self.base, self.bytes, self._text = base, size, text
        return True

    def _payload_length(self, base: str, text: int, number: int) -> int:
        return _FRAME + _length(self.root + base) + text + number * (_PER_NAME - _length(base))

    def _room(self, base: str, grouping: Grouping) -> int:
        """Return how much room the names have: in a payload, or in a file, whose own payload has their directory."""
        filed = grouping.output_root is not None and _length(self.root + base) <= _LONGEST_BASE
        return MAX_BYTES if filed else MAX_PAYLOAD_BYTES

    def document(self, bucket: str, files: NamesFiles | None = None) -> dict[str, Any]:
        """Return the group as the global state and its partition keep it.

        :param files: where names are written that do not fit into a payload.
        :raises OutputError: when they cannot be written.
        """
        names = [found.key.removeprefix(self.base) for found in self.objects]
        payload = {"base": self.root + self.base, "bytes": self.bytes}
        if files is None or self._payload_length(self.base, self._text, len(names)) <= MAX_PAYLOAD_BYTES:
            payload["names"] = names
        else:
            payload[FIELD] = files.put(names).document()
        return {"key": _key(bucket, self.objects), "payload": payload}


def identifier(document: Mapping[str, Any]) -> PartitionIdentifier:
    """Return the partition of a group's document."""
    return PartitionIdentifier(document["key"], payload=document["payload"])


def _key(bucket: str, objects: list[StoredObject]) -> str:
    """Return ``bucket|first name|digest``; the digest covers names and versions, so it is the group's identity."""
    versions = [[found.key, found.size, found.etag, str(found.modified)] for found in objects]
    return SEPARATOR.join([encode_part(bucket), encode_part(objects[0].key[:_SHOWN]), group_digest(versions)])


def _directory(key: str) -> str:
    return key[: key.rfind("/") + 1]


def _common_directory(base: str, key: str) -> str:
    """Return the longest directory that holds both; ``base`` is one."""
    while not key.startswith(base):
        base = _directory(base.rstrip("/"))
    return base


def _length(text: str) -> int:
    return len(json.dumps(text)) - 2


@dataclass(slots=True)
class Planner:
    """Collects wanted objects into groups, and full groups into the plan of a step."""

    listing: Listing
    grouping: Grouping
    left: LeftOut
    files: NamesFiles | None = None
    plan: list[dict[str, Any]] = field(default_factory=list)
    _open: Group | None = None
    _closed: str = ""
    _seen: str = ""

    @property
    def covered(self) -> str:
        """The last name that the plan, or a plan before it, has dealt with."""
        return self._closed if self._open else self._seen

    def see(self, found: StoredObject, wanted: bool) -> None:
        """Take the next object of the listing; one that cannot be part of a partition is left out, and counted."""
        if wanted and self._possible(found) and not (self._open and self._open.takes(found, self.grouping)):
            self.close()
            self._open = self._begun(found)
        self._seen = found.key

    def _possible(self, found: StoredObject) -> bool:
        with self.left.item(found.key):
            check_key(found.key, "object")
            if len(found.key) > _SHOWN:  # perhaps too long for any payload
                identifier(self._begun(found).document(self.listing.bucket))
            return True
        return False

    def _begun(self, found: StoredObject) -> Group:
        group = Group(self.listing.address(""))
        group.takes(found, self.grouping)
        return group

    def close(self) -> None:
        """Put the open group into the plan."""
        if self._open:
            self.plan.append(self._open.document(self.listing.bucket, self.files))
        self._open, self._closed = None, self._seen

    def take(self) -> list[dict[str, Any]]:
        """Return the plan, and begin the next one."""
        plan, self.plan = self.plan, []
        return plan
