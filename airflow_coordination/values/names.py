"""Keys and source identifiers: what they may contain, and how parts are joined (promises S15, X5)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Protocol
from urllib.parse import unquote

from airflow_coordination.values.input_errors import InvalidInputError, InvalidKeyError, SettingsError, shown

MAX_KEY_BYTES = 2048
MAX_SOURCE_BYTES = 255
SEPARATOR = "|"
GLOBAL_STATE_KEY = "GLOBAL_STATE_SOURCE_PARTITION_KEY_FOR_CREATING_PARTITIONS"
"""Key of the item that holds a source's global state (Data Prepper's own name for it)."""

UPKEEP = "~"
"""How the names of sources and datasets begin that are kept by this package, and not given by users."""
MERGED = f"{UPKEEP}merged/"
"""How the names of sources begin whose partitions publish the overlays of another one, whose name follows."""
COPIES = f"{UPKEEP}copies/"
"""How the names of sources begin whose partitions publish copies of what another one has published."""
DUTIES = f"{UPKEEP}duties"
"""The source whose partitions are what happens by itself."""
ALL = f"{UPKEEP}all"
"""The source whose documents are those of all sources."""
_KEPT = (MERGED, COPIES, DUTIES)

_INTERNAL = (f"{SEPARATOR}GLOBAL_STATE", f"{SEPARATOR}WORKER")

COPY = "copy-"
"""How the id of a store begins that was a copy of another one, and was given an id of its own."""


def check_key(key: object, field: str = "key", limit: int = MAX_KEY_BYTES) -> str:
    """Return ``key`` if every store can hold it.

    :param key: 1 to ``limit`` bytes of UTF-8 without NUL.
    :param field: how the error names it.
    :raises InvalidKeyError: otherwise.
    """
    if not isinstance(key, str):
        raise InvalidKeyError(field, key, f"is {type(key).__name__}, not text", "Give a string")
    if key.isascii() and 0 < len(key) <= limit and "\x00" not in key:  # as most are, and a reader has many
        return key
    if not key:
        raise InvalidKeyError(field, key, "is empty", f"Give 1 to {limit} bytes of text")
    if "\x00" in key:
        raise InvalidKeyError(field, key, "contains NUL, which PostgreSQL cannot store", "Remove the character")
    try:
        size = len(key.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidKeyError(field, key, "contains a lone surrogate", "Give text that UTF-8 can encode") from error
    if size > limit:
        raise InvalidKeyError(
            field, key, f"has {size} bytes of UTF-8, the limit is {limit}", "Use a shorter key, for example a hash"
        )
    return key


def check_users_name(name: object, field: str, limit: int) -> str:
    """Return the name of a source or a dataset if a user may give it.

    :param field: how the error names it.
    :param limit: its longest length in bytes.
    :raises InvalidKeyError: when no store can hold it, or it begins as the names that are kept by this package.
    """
    checked = check_key(name, field, limit)
    if checked.startswith(UPKEEP):
        problem = f"begins with {UPKEEP}, as the names of what this package itself keeps beside users' data"
        raise InvalidKeyError(field, name, problem, f"Leave out the {UPKEEP}")
    return checked


def check_upkeep(source: str) -> None:
    """Refuse a source that begins as those of upkeep, and is none.

    :raises InvalidKeyError: naming those there are.
    """
    if source.startswith(UPKEEP) and not source.startswith(_KEPT):
        problem = f"begins with {UPKEEP}, and is none of {', '.join(_KEPT)}"
        raise InvalidKeyError("source", source, problem, f"Leave out the {UPKEEP}")


def was_copied(store_id: str) -> bool:
    """Return whether a store was a copy once: what it remembers may have happened in its original.

    Its id says so itself, so that every store, hint and marker of the versions before can hold it.
    """
    return store_id.startswith(COPY)


def storable(text: object) -> str:
    """Return a text for people with what no store can hold, NUL and lone surrogates, spelt out."""
    return str(text).replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def check_said(by: object, why: object) -> None:
    """Refuse what is done by nobody, or for no reason.

    :raises InvalidInputError: naming what is empty, or no text.
    """
    for field, text in (("by", by), ("why", why)):
        if not isinstance(text, str) or not text.strip():
            problem = "is empty" if isinstance(text, str) else f"is {type(text).__name__}, not text"
            raise InvalidInputError(field, text, problem, "Say who acts and why; it is kept in the audit")


def check_limit(limit: Any) -> int:
    """Return ``limit`` if it is a number of rows that one request may ask for.

    :raises InvalidInputError: otherwise.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 < limit < 2**31:
        raise InvalidInputError("limit", limit, "is not a number of partitions", "Give a whole number above zero")
    return limit


def encode_part(part: str) -> str:
    """Return ``part`` with the separator and the escape character percent-encoded, so that joining is injective."""
    return part.replace("%", "%25").replace(SEPARATOR, "%7C")


def compose_source(source: str, partition_prefix: str | None, kind: str) -> str:
    """Return the stored ``sourceIdentifier``: ``[prefix|]source|kind`` as in Data Prepper, each part encoded first.

    :param source: the source's name.
    :param partition_prefix: keeps deployments that share a store apart, or ``None``.
    :param kind: ``PARTITION``, ``GLOBAL_STATE`` or ``WORKER``.
    :raises InvalidKeyError: when a part is empty, holds NUL, or the whole exceeds 255 bytes.
    """
    check_key(source, "source", MAX_SOURCE_BYTES)
    parts = [source, kind]
    if partition_prefix is not None:
        parts.insert(0, check_key(partition_prefix, "partition_prefix", MAX_SOURCE_BYTES))
    return check_key(SEPARATOR.join(encode_part(part) for part in parts), "source", MAX_SOURCE_BYTES)


class Named(Protocol):
    """What has the name of a source."""

    @property
    def source(self) -> str:
        """The source's name."""

    @property
    def partition_prefix(self) -> str | None:
        """What keeps it apart from others of that name."""


def identifier_of(named: Named) -> str:
    """Return the stored identifier of the partitions of what has a source's name, such as its coordinator."""
    return compose_source(named.source, named.partition_prefix, "PARTITION")


def everybody(partition_prefix: str | None) -> str:
    """Return the stored identifier whose documents are those of all sources with this prefix."""
    return compose_source(ALL, partition_prefix, "PARTITION")


def compose_merged(source: str, partition_prefix: str | None, kind: str = "PARTITION") -> str | None:
    """Return the stored identifier of the source beside another one whose partitions publish the overlays of that one.

    :param source: the name of the other one, as for :func:`compose_source`.
    :return: ``None`` where it would exceed 255 bytes: no store can hold it, so that nothing is merged.
    :raises InvalidKeyError: when the other one's own identifier is none.
    """
    return _compose_beside(MERGED, source, partition_prefix, kind)


def compose_copies(source: str, partition_prefix: str | None, kind: str = "PARTITION") -> str | None:
    """Return the stored identifier of the source beside another one whose partitions publish copies of that one's.

    :param source: the name of the other one, as for :func:`compose_source`.
    :return: ``None`` where it would exceed 255 bytes: no store can hold it, so that nothing is copied.
    :raises InvalidKeyError: when the other one's own identifier is none.
    """
    return _compose_beside(COPIES, source, partition_prefix, kind)


def _compose_beside(beginning: str, source: str, partition_prefix: str | None, kind: str) -> str | None:
    own = compose_source(source, partition_prefix, kind)
    if len(own.encode()) + len(beginning) > MAX_SOURCE_BYTES:
        return None
    return compose_source(f"{beginning}{source}", partition_prefix, kind)


def branch_dataset(branch: int | None, dataset: str) -> str:
    """Return under which name head records keep what a partition has published to a dataset in a branch.

    :param branch: the branch's number; ``None`` for the base, which is what has no branch.
    :param dataset: as users name it.
    """
    return dataset if branch is None else f"{UPKEEP}{branch}{UPKEEP}{dataset}"


def split_dataset(stored: str) -> tuple[int | None, str]:
    """Return branch and dataset of the name in a head record; the inverse of :func:`branch_dataset`."""
    if stored.startswith(UPKEEP):
        number, found, dataset = stored[len(UPKEEP) :].partition(UPKEEP)
        if found and number.isascii() and number.isdecimal():
            return int(number), dataset
    return None, stored


def check_read(dataset: object, limit: int) -> str:
    """Return the name of a dataset that somebody wants to read, if it is not how a branch's head records are stored.

    :raises InvalidKeyError: when it is, or no store can hold it.
    """
    checked = check_key(dataset, "dataset", limit)
    branch, name = split_dataset(checked)
    if branch is not None:
        problem = f"is how the store keeps what branch {branch} has published to {shown(name)}"
        remedy = f"Name {shown(name)}; read_completed(branch={branch}) reads it before it is published"
        raise InvalidKeyError("dataset", dataset, problem, remedy)
    return checked


def dataset_in_words(stored: str) -> str:
    """Return the dataset of a head record as people are told of it: ``clean``, or ``clean, in branch 7``."""
    branch, dataset = split_dataset(stored)
    return dataset if branch is None else f"{dataset}, in branch {branch}"


def agreed_prefix(stores: str | None, given: str | None) -> str | None:
    """Return the partition prefix that holds: the store's own, or the one that was given by hand.

    :param stores: what the store's configuration says; every reader and writer on that store has it as default.
    :param given: the argument of a call, ``None`` when it was left out.
    :raises SettingsError: when they differ: work that is finished under one name would be handed out under another.
    """
    if stores is None or given is None or stores == given:
        return stores if given is None else given
    problem = f"is another one than the store's own, {stores!a}, which its source_coordination or its connection names"
    raise SettingsError("partition_prefix", given, problem, "Leave it out, or open the store with this one")


def holds_partitions(identifier: str) -> bool:
    """Return whether a stored ``sourceIdentifier`` is that of partitions, and not its global state or its workers."""
    return not identifier.endswith(_INTERNAL)


def name_under(partition_prefix: str | None, identifier: str) -> str | None:
    """Return the source's name if a stored identifier is that of partitions with this prefix, otherwise ``None``."""
    prefix, name, _ = split_source(identifier)
    return name if prefix == partition_prefix and holds_partitions(identifier) else None


def is_internal(identifier: str) -> bool:
    """Return whether a stored ``sourceIdentifier`` is of what goes with a source: its supplier, its workers."""
    return identifier.endswith(_INTERNAL)


def split_source(identifier: str) -> tuple[str | None, str, str]:
    """Return prefix, source and kind of a stored ``sourceIdentifier``; the inverse of :func:`compose_source`."""
    *prefix, source, kind = (unquote(part) for part in identifier.split(SEPARATOR))
    return (prefix[0] if prefix else None), source, kind


_REMEDY = (
    "To go on with that work, {change} partition_prefix where the store is named; "
    "otherwise create partitions under the prefix that is set first"
)


def namesakes(identifier: str, registered: Collection[str]) -> list[str]:
    """Return the stored identifiers of the sources for which a source that is not registered may have been mistaken.

    They have its name under another prefix, or under none. One that is registered itself is meant as it is.
    """
    if identifier in registered:
        return []
    _, source, kind = split_source(identifier)
    return sorted(each for each in registered if split_source(each)[1:] == (source, kind))


def confusion(identifier: str, other: str, store: str) -> SettingsError:
    """Return what to say of a source that is not there, while ``other`` is, which has its name.

    :param store: what the store is called.
    """
    prefix, source, _ = split_source(identifier)
    others, _, _ = split_source(other)
    under = f"under partition_prefix {others!a}" if others is not None else "without a partition_prefix"
    problem = (
        f"leads to {identifier!a}, which store {store} does not know; it knows source {source!a} {under} ({other!a})"
    )
    change = f"set {others!a} as" if others is not None else "leave out the"
    return SettingsError("partition_prefix", prefix, problem, _REMEDY.format(change=change))


def partition_label(source: str, key: str) -> str:
    """Return a partition's name for errors: one printable line."""
    return f"partition {shown(key)} of source {shown(source)}"
