"""The directories of attempts, named by hashes and fences, never by a key as it is (promise X5).

::

    <output root>/_attempts/_partition=<hash>-<slug>/_attempt=<fence>-<process>/_block=<dataset>-<n>/

The names have the form ``column=value`` so that Spark can read any number of blocks with partition columns
in one scan from ``_attempts`` on, which is as far up as it then looks for columns.

The marker in an attempt directory says whose it is, and which store can tell whether its tenure is over. Two stores may
share an output root, a source and its keys (staging and production). Each gives its own fences, so one knows nothing
about the tenures of the other, and must not judge them.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, replace
from enum import Enum
from urllib.parse import unquote

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.systems.objects.storage import join
from airflow_coordination.values.documents import as_text, parse
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.names import was_copied

ATTEMPTS = "_attempts"
PARTITION, ATTEMPT, BLOCK = "_partition", "_attempt", "_block"
LAYOUT_COLUMNS = (PARTITION, ATTEMPT, BLOCK)
MANIFEST = "_manifest.json"
MARKER = "_attempt.json"
INDEX = "_index"
NULL = "__HIVE_DEFAULT_PARTITION__"
"""Spark's directory value for null, and for an empty text."""
_BEYOND_ASCII = re.compile(r"%[89A-Fa-f][0-9A-Fa-f]")
_READABLE = 40
_LEVELS_BELOW_A_PARTITION = 3
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def slug(text: str) -> str:
    """Return the readable part of a name: letters, digits, ``.``, ``-`` and ``_`` only, at most 40."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text)[:_READABLE].strip("._")


def partition_directory(source: str, key: str) -> str:
    """Return the name of a partition's directory: 96 bits of a hash and a readable slug.

    :param source: the stored source identifier.
    :param key: any partition key.
    """
    digest = hashlib.sha256(f"{len(source)}|{source}|{key}".encode()).hexdigest()[:24]
    return f"{PARTITION}={digest}-{slug(key)}"


def attempt_directory(fence: Fence, process: str) -> str:
    """Return the name of the directory of one driver process under one fence."""
    return f"{ATTEMPT}={fence}-{process}"


def block_directory(dataset: str, number: int) -> str:
    """Return the name of a block's directory."""
    return f"{BLOCK}={_readable(dataset)}-{number}"


def _readable(name: str) -> str:
    return name if _SAFE.fullmatch(name) else f"{hashlib.sha256(name.encode()).hexdigest()[:12]}-{slug(name)}"


def index_directory(output_root: str, source: str, dataset: str) -> str:
    """Return the directory of a dataset's index below an output root.

    :param source: the stored source identifier.
    """
    whose = f"{hashlib.sha256(source.encode()).hexdigest()[:12]}-{slug(source)}"
    return join(output_root, INDEX, whose, _readable(dataset))


def attempts_root(output_root: str) -> str:
    """Return the directory that all attempts below an output root share."""
    return join(output_root, ATTEMPTS)


def output_root_of(manifest: str) -> str:
    """Return the output root that a manifest lies below, by its address; nothing for what lies below none."""
    return manifest.rpartition(f"/{ATTEMPTS}/")[0]


def place_of(block: str) -> str:
    """Return what names a block whatever its root is called: the directories of partition, attempt and block.

    One place has many addresses (``s3://`` and ``s3a://``, symbolic links, two names of one server). An attempt's
    directory has a fence and a random suffix in its name, so that no other place has these three.

    :param block: the address of a block's directory.
    """
    return "/".join(block.split("/")[-_LEVELS_BELOW_A_PARTITION:])


def is_manifest_of(address: str, source: str, key: str) -> bool:
    """Return whether an address is that of a manifest in a partition's own directory, below whatever root."""
    root, found, inside = address.rpartition(f"/{ATTEMPTS}/{partition_directory(source, key)}/")
    parts = inside.split("/")
    return (
        bool(found)
        and len(parts) == _LEVELS_BELOW_A_PARTITION
        and parts[0].startswith(f"{ATTEMPT}=")
        and parts[1].startswith(f"{BLOCK}=")
        and parts[2] == MANIFEST
        and not {".", ".."}.intersection(root.split("/"))
    )


def values_in(path: str) -> dict[str, str | None]:
    """Return the partition columns in a file's path inside its block, in their order, with the text Spark reads."""
    pairs = (part.partition("=") for part in path.split("/")[:-1] if "=" in part)
    return {_unescaped(name): None if value == NULL else _unescaped(value) for name, _, value in pairs}


def _unescaped(text: str) -> str:
    """Return a name or value as Spark reads it: ``%`` and two digits are one letter, never a part of one."""
    return unquote(text, encoding="latin-1")


def misread(path: str) -> tuple[str, str] | None:
    """Return why Spark reads other partition columns in a file's path than its writer meant, and the remedy, if so."""
    directories = [part for part in path.split("/")[:-1] if "=" in part]
    if any(_BEYOND_ASCII.search(part) for part in directories):
        remedy = "Write letters beyond ASCII as they are, as Spark does: of pyarrow and pandas only values in ASCII"
        return "where letters are escaped byte by byte, which Spark reads as other letters", remedy
    if any(part.endswith("=") for part in directories):
        return "where a value is empty, which Spark does not read", f"Write {NULL} for a value that is missing"
    return None


def is_below(path: str) -> bool:
    """Return whether a relative path stays below the directory that it is relative to."""
    return not {"", ".", ".."}.intersection(path.split("/"))


def is_data(path: str) -> bool:
    """Return whether a file, by its path inside a block, is data: Spark's own rule for hidden files."""
    return not any(
        part.startswith(".") or (part.startswith("_") and "=" not in part) or part.endswith("._COPYING_")
        for part in path.split("/")
    )


def hides_rows(path: str) -> bool:
    """Return whether a file is hidden by the name or value of a partition column, so that its rows would be missed."""
    parts = path.split("/")
    return is_data(parts[-1]) and any("=" in part and not is_data(part) for part in parts[:-1])


def is_hidden_by_name(path: str, file_format: str) -> bool:
    """Return whether a file looks like one of a format and only its own name hides it, not a directory of a job."""
    directory, _, name = path.rpartition("/")
    extension = {"text": "txt"}.get(file_format, file_format)
    looks_like_it = f".{extension}" in name.lower() and not name.endswith((".crc", "._COPYING_"))
    return looks_like_it and not is_data(name) and (not directory or is_data(directory))


MAX_MARKER_BYTES = 64 * 1024


class Standing(Enum):
    """A store's judgement on the tenure that a marker names."""

    OWN = "its own"
    FOREIGN = "another store's"
    NOBODYS = "written by the version before, and nobody can tell any more by whom"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """The first file in an attempt directory.

    :param source: the stored source identifier.
    :param key: the partition key.
    :param fence: the tenure.
    :param store_id: the store that gave the fence; ``None`` in markers of the version before.
    """

    source: str
    key: str
    fence: Fence
    store_id: str | None

    def to_bytes(self) -> bytes:
        """Return the marker as it is stored."""
        facts = asdict(self) | {"fence": str(self.fence)}
        facts["store"] = facts.pop("store_id")
        return json.dumps(facts).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Marker:
        """Return a stored marker.

        :raises ValueError: when it is none (:class:`KeyError` and :class:`TypeError`, too).
        """
        facts = parse(content, max_bytes=MAX_MARKER_BYTES, max_depth=1)
        if not isinstance(facts, dict) or not isinstance(store_id := facts.get("store"), str | None):
            raise TypeError("the store's id is no text")
        source, key, fence = (as_text(facts[name]) for name in ("source", "key", "fence"))
        return cls(source=source, key=key, fence=Fence.parse(fence), store_id=store_id)

    def of(self, store_id: str) -> Marker:
        """Return the same marker with a store's id."""
        return replace(self, store_id=store_id)

    def standing(self, store_id: str, partition: Partition | None, *, unmarked_are_own: bool = False) -> Standing:
        """Return whose tenure it is, as the store ``store_id`` sees it.

        The nonce of a fence is given once in the world. So the store that holds exactly this fence, as the one of
        now or in the ring of endings, gave it; and one that holds another nonce for this token did not, whatever
        the marker says: one of the two stores is a copy of the other. A copy that was given an id of its own holds
        fences of its original, too. So to it a fence says nothing, the id in a marker everything.

        :param partition: the partition as that store has it.
        :param unmarked_are_own: a person says that no other store wrote here before markers named their store.
        """
        remembered = _remembered(partition, self.fence.token)
        if remembered not in (None, self.fence.nonce) or self.store_id not in (None, store_id):
            return Standing.FOREIGN
        known = self.store_id is not None or (remembered is not None and not was_copied(store_id))
        return Standing.OWN if known or unmarked_are_own else Standing.NOBODYS


def _remembered(partition: Partition | None, token: int) -> str | None:
    """Return the nonce that a partition's store gave with ``token``, ``None`` if it has forgotten."""
    if partition is None:
        return None
    if token == partition.token and partition.held_under(Fence(token, partition.nonce)):
        return partition.nonce
    ending = partition.ending_at(token)
    return ending.fence.nonce if ending else None
