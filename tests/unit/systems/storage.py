"""A storage in memory with a clock of its own, for scans that are interrupted at will."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from airflow_coordination.leases import Checkpoint, PartitionIdentifier
from airflow_coordination.sources import Listing, StoredObject, object_listing
from airflow_coordination.testing.clock import START, FakeClock


class Storage:
    """A :class:`Listing` of what a test puts there."""

    bucket, prefix = "bucket", ""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.objects_by_key: dict[str, StoredObject] = {}
        self.listings = 0

    def put(self, key: str, size: int = 1, modified: datetime | None = None) -> None:
        self.objects_by_key[key] = StoredObject(key, size, modified or self.now(), f"{key}-{modified or self.now()}")

    def address(self, key: str) -> str:
        return f"s3a://bucket/{key}"

    def now(self) -> datetime:
        return self.clock.now()

    def objects(self, prefix: str, start_after: str) -> Iterator[StoredObject]:
        """Look for the next key each time, so that objects that come while the listing goes on are seen or not."""
        self.listings += 1
        last = start_after
        while following := sorted(k for k in self.objects_by_key if k > last and k.startswith(prefix)):
            last = following[0]
            yield self.objects_by_key[last]


class Source:
    """A source's partitions and global state, without a store.

    :param supplier: an object listing over ``storage``.
    """

    def __init__(self, storage: Listing, **options: Any) -> None:
        supplier = object_listing(storage, **options)
        object.__setattr__(supplier, "clock", getattr(storage, "clock", FakeClock()))
        self.supplier = supplier
        self.partitions: dict[str, dict[str, Any]] = {}
        self.state: dict[str, Any] = {}

    def scan(self, steps: int | None = None, created: bool = True) -> int:
        """Run the supplier and return its steps.

        :param steps: it is killed after so many.
        :param created: whether the partitions of its last page were created before that.
        """
        taken, done = 0, []
        for item in self.supplier(dict(self.state)):
            if steps is not None and taken >= steps:
                break
            taken += 1
            if isinstance(item, Checkpoint):
                self._create(done)
                done, self.state = [], dict(item.state)
            else:
                done.append(item)
        if created or steps is None:
            self._create(done)
        return taken

    def _create(self, identifiers: list[PartitionIdentifier]) -> None:
        for each in identifiers:
            self.partitions.setdefault(each.key, dict(each.payload or {}))

    def names(self) -> list[str]:
        """Return every object's name as often as it is in a partition."""
        found = []
        for payload in self.partitions.values():
            paths = [payload["path"]] if "path" in payload else [payload["base"] + name for name in payload["names"]]
            found += [path.removeprefix("s3a://bucket/") for path in paths]
        return sorted(found)


DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
__all__ = ["DAY", "HOUR", "START", "Source", "Storage"]
