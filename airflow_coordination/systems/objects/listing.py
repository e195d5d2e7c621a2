"""Objects in a storage: how a scan asks for them, and their addresses in a payload."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from airflow_coordination.systems.objects.names_file import FIELD, NamesFile


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


_COPYING: Final = "._COPYING_"
_PATTERN: Final = re.compile(r"[*?\[\]{}\\]")


def hidden_from_spark(name: str) -> bool:
    """Return whether Spark's readers leave out a file of this name without a word, also where its path is given.

    They look at the last part of a path only: ``_x`` without a ``=`` in it, ``.x``, and ``x._COPYING_``.
    (Spark: ``HadoopFSUtils.shouldFilterOutPathName``, and ``isDataPath`` for ``_metadata``.)

    :param name: a name, an address or a path.
    """
    last = name.rpartition("/")[2]
    return (last.startswith("_") and "=" not in last) or last.startswith(".") or last.endswith(_COPYING)


def object_paths(payload: Mapping[str, Any]) -> list[str]:
    """Return the addresses of a partition's objects.

    :param payload: the payload of a partition that :func:`object_listing` made, of one object or of a group. The names
        of a large group are read from their file.
    :raises InvalidInputError: when that file is missing, or is not what was listed.
    :raises OutputError: when its storage cannot be asked.
    """
    if "path" in payload:
        return [payload["path"]]
    return [payload["base"] + name for name in group_names(payload)]


def is_group(payload: Mapping[str, Any]) -> bool:
    """Return whether a payload is that of a group of objects."""
    return "base" in payload and ("names" in payload or FIELD in payload)


def group_names(payload: Mapping[str, Any]) -> Sequence[str]:
    """Return the names of a group's objects below its ``base``, wherever they are: see :func:`object_paths`."""
    filed = NamesFile.of(payload)
    return payload["names"] if filed is None else filed.names()


def spark_paths(payload: Mapping[str, Any]) -> list[str]:
    r"""Return the same for Spark's readers, which take ``* ? [ ] { }`` in a path for a pattern.

    ``spark.read.text("a[1]")`` reads the file ``a1``, without a word; ``a\[1\]`` reads what is meant.

    :param payload: see :func:`object_paths`.
    :raises InvalidInputError: as that.
    :raises OutputError: as that.
    """
    return [_PATTERN.sub(r"\\\g<0>", path) for path in object_paths(payload)]
