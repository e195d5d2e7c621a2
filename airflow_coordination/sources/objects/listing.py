"""Objects in a storage, and how a scan asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object as a listing shows it.

    :param key: its name below the bucket or directory that is listed.
    :param size: in bytes.
    :param modified: when it was last written, ``None`` where the storage does not say.
    :param etag: the mark of its version, ``None`` where the storage does not say.
    :param archived: the storage's name of the archive that it is in, from where nobody can read it; ``None`` otherwise.
    :param problem: why what is there cannot be listed; ``key`` is then what cannot be, perhaps a directory.
    """

    key: str
    size: int
    modified: datetime | None = None
    etag: str | None = None
    archived: str | None = None
    problem: str | None = None


class Listing(Protocol):
    """A bucket or directory whose objects can be listed page by page, in the order of their keys.

    Order is what bounded memory, resuming and stable groups rest on, so a scan refuses a listing that is out of order.
    """

    @property
    def bucket(self) -> str:
        """The bucket or directory: the first part of each partition key, and a name in the global state."""

    @property
    def prefix(self) -> str:
        """The common beginning of all keys asked for; empty for the whole bucket."""

    def address(self, key: str) -> str:
        """Return the address by which the work opens an object."""

    def now(self) -> datetime:
        """Return the time by the clock that stamps the objects, where it can be asked; otherwise this host's."""

    def objects(self, prefix: str, start_after: str) -> Iterator[StoredObject]:
        """Yield the objects whose keys begin with ``prefix`` and come after ``start_after``.

        :param prefix: a text, not a directory.
        :param start_after: a key, which need not exist; empty for all.
        :raises SourceError: when they cannot be listed.
        """
