"""The lines of an export: a heading, one for the supplier, each document and each partition, and a sum at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from airflow_coordination.leases.moving import Life
from airflow_coordination.protocol.beside.documents import Document
from airflow_coordination.protocol.fields import HEAD_FIELDS, MOVED, PARTITION_FIELDS, Field, Kind
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.transfer.checking import check_document, check_heading
from airflow_coordination.values.blocks import dump_blocks, load_blocks
from airflow_coordination.values.documents import parse
from airflow_coordination.values.names import check_key
from airflow_coordination.values.status import PartitionStatus, Rank

FORMAT: Final = "airflow_coordination source"
VERSION: Final = 1
WITH_DOCUMENTS: Final = 2
"""The version of a file with documents, which code of before would lose, and so refuses. One without them is of
version 1, which all code reads, unless partitions in it have what it does not know."""
MAX_LINE_BYTES: Final = 64 * 1024 * 1024
_DEPTH: Final = 16
_OF_A_LIFE: Final = frozenset({"key", "payload_text", "priority", "ordinal", "create_op", *MOVED})
_PARTITION: Final = tuple(field for field in PARTITION_FIELDS if field.name in _OF_A_LIFE)
DOCUMENT: Final = "document"
DEFAULT: Final = "default_rules"
"""The line of the document with the default rules, which is no source's own."""
_DOCUMENT: Final = ("name", "version", "content", "author", "comment")
_HEAD: Final = tuple(field for field in HEAD_FIELDS if field.name not in ("source", "key"))


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of an export: what it holds, and where it comes from.

    :param source: the source's name.
    :param partition_prefix: its deployment's prefix.
    :param store_id: of the store that it comes from.
    :param store: that store's address without credentials, for people.
    :param exported_at: by that store's clock.
    :param facts: what is registered of the source.
    """

    source: str
    partition_prefix: str | None
    store_id: str
    store: str
    exported_at: datetime
    facts: Mapping[str, Any]


def dumped(name: str, value: Mapping[str, Any]) -> str:
    """Return one line; ASCII, so that no tool on its way can change it."""
    return json.dumps({name: value}, ensure_ascii=True, separators=(",", ":"), sort_keys=True) + "\n"


def heading_line(heading: Heading, version: int = VERSION) -> str:
    """Return the first line."""
    told = {
        "format": FORMAT,
        "version": version,
        "source": heading.source,
        "partition_prefix": heading.partition_prefix,
        "store_id": heading.store_id,
        "store": heading.store,
        "exported_at": heading.exported_at.isoformat(),
        "facts": dict(heading.facts),
    }
    return dumped("heading", told)


def heading_of(value: Mapping[str, Any]) -> Heading:
    """Return the heading in a first line.

    :raises ValueError: when it is none, or of a version that this code does not know.
    """
    if value.get("format") != FORMAT:
        raise ValueError(f"its format is {value.get('format')!r}, not {FORMAT!r}")
    if value.get("version") not in (VERSION, WITH_DOCUMENTS):
        raise ValueError(f"its version is {value.get('version')!r}, this code reads {VERSION} and {WITH_DOCUMENTS}")
    names = ("source", "partition_prefix", "store_id", "store", "facts")
    found = {name: value[name] for name in names}
    exported_at = _moment(value["exported_at"])
    check_heading(found, exported_at)
    return Heading(**found, exported_at=exported_at)


def document_line(document: Document, name: str = DOCUMENT) -> str:
    """Return the line of the newest version of a document.

    :param name: of the line.
    """
    told = {name: getattr(document, name) for name in _DOCUMENT}
    return dumped(name, {**told, "at": document.at.isoformat()})


def document_of(value: Mapping[str, Any], source: str) -> Document:
    """Return the document in a line.

    :raises ValueError: when something is missing, or is not what it must be.
    """
    if unknown := value.keys() - {*_DOCUMENT, "at"}:
        raise ValueError(f"it has {sorted(unknown)!r}, which this code does not know")
    document = Document(source=source, op="", at=_moment(value["at"]), **{name: value[name] for name in _DOCUMENT})
    check_document(document)
    return document


def life_line(life: Life) -> str:
    """Return the line of one partition."""
    found: dict[str, Any] = {"key": life.key}
    if life.partition is not None:
        found["partition"] = _encoded(life.partition, _PARTITION)
    if life.heads:
        found["heads"] = [_encoded(head, _HEAD) for head in life.heads]
    return dumped("life", found)


def life_of(value: Mapping[str, Any], source: str) -> Life:
    """Return the partition in a line.

    :raises ValueError: when something is missing, or is not what it must be.
    """
    key = check_key(value["key"])
    partition = None
    if "partition" in value:
        partition = Partition(source=source, **_decoded(value["partition"], _PARTITION))
        if partition.key != key or partition.status is PartitionStatus.ASSIGNED:
            raise ValueError(f"partition {partition.key!r} is held, or stands in the line of {key!r}")
    heads = tuple(HeadRecord(source=source, key=key, **_decoded(each, _HEAD)) for each in value.get("heads", ()))
    if partition is None and not heads:
        raise ValueError(f"there is nothing of {key!r} in it")
    return Life(key, partition, heads)


def parsed(line: bytes) -> tuple[str, Mapping[str, Any]]:
    """Return name and value of a line.

    :raises ValueError: when it is no line of an export.
    """
    found = parse(line, max_bytes=MAX_LINE_BYTES, max_depth=_DEPTH)
    if not isinstance(found, dict) or len(found) != 1:
        raise ValueError("it is not one JSON object with one name")
    [(name, value)] = found.items()
    if not isinstance(value, dict):
        raise ValueError(f"its {name!r} is no JSON object")
    return name, value


def _encoded(of: Any, fields: tuple[Field, ...]) -> dict[str, Any]:
    found = {field.stored: _told(getattr(of, field.name), field.kind) for field in fields}
    return {name: value for name, value in found.items() if value is not None}


def _told(value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    if kind is Kind.TIME:
        return value.isoformat()
    if kind is Kind.BLOCKS:
        return json.loads(dump_blocks(value)) if value else None
    return value.name.lower() if kind is Kind.RANK else value


def _decoded(value: Mapping[str, Any], fields: tuple[Field, ...]) -> dict[str, Any]:
    unknown = value.keys() - {field.stored for field in fields}
    if unknown:
        raise ValueError(f"it has {sorted(unknown)!r}, which this code does not know")
    found = {}
    for field in fields:
        if field.stored in value:
            found[field.name] = _value(value[field.stored], field)
        elif not field.optional and field.kind is not Kind.BLOCKS:
            raise ValueError(f"it has no {field.stored!r}")
        elif field.kind is Kind.BLOCKS:
            found[field.name] = ()
    return found


def _value(told: Any, field: Field) -> Any:
    wanted: type = int if field.kind is Kind.NUMBER else list if field.kind is Kind.BLOCKS else str
    if not isinstance(told, wanted) or isinstance(told, bool):
        raise ValueError(f"its {field.stored!r} is {told!r}, not {_CALLED[wanted]}")
    return _DECODERS[field.kind](told) if field.kind in _DECODERS else told


def _moment(told: str) -> datetime:
    at = datetime.fromisoformat(told)
    if at.tzinfo is None:
        raise ValueError(f"the time {told!r} has no zone")
    return at


_CALLED: Final = {int: "a number", list: "a list", str: "a text"}
_DECODERS: Final[dict[Kind, Callable[[Any], Any]]] = {
    Kind.TIME: _moment,
    Kind.BLOCKS: lambda told: load_blocks(json.dumps(told)),
    Kind.STATUS: PartitionStatus,
    Kind.RANK: lambda told: Rank[told.upper()],
}
