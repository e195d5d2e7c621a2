"""The check of a line of an export: it may hold nothing that a store would not have taken from its own coordinators.

A file passes through hands. What it holds is stored as it is, and is read at every look of a source from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from airflow_coordination.leases.moving import Life
from airflow_coordination.leases.supply import check_state
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.beside.documents import MAX_DOCUMENT_BYTES, MAX_NAME_BYTES, VIEW, Document
from airflow_coordination.protocol.fields import HEAD_FIELDS, PARTITION_FIELDS, Field, Kind
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.accounting import Accounts
from airflow_coordination.values.blocks import MAX_DATASET_BYTES, Block, dump_blocks
from airflow_coordination.values.documents import MAX_PAYLOAD_BYTES, decode_progress, parse
from airflow_coordination.values.names import GLOBAL_STATE_KEY, check_key, compose_source, split_dataset, storable
from airflow_coordination.values.status import PartitionStatus

_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
"""Between them every sum of a time and a setting is a time."""
_MOST: Final = {"token": 2**62, "ordinal": 2**62, "rows": 2**62, "bytes": 2**62}
_COUNT: Final = 2**31
_MODES: Final = ("replace", "append")
_NAME_BYTES, _TEXT_BYTES = 255, 16 * 1024
_LONG: Final = {"progress_text": 1024 * 1024, "accounting_text": 64 * 1024, "last_error": 16 * 1024}
_NAMES: Final = frozenset({"nonce", "last_op", "create_op", "generation", "op", "kind"})


def check_life(life: Life) -> None:
    """Refuse a partition that no store would have made.

    :raises ValueError: naming the field.
    """
    if life.key == GLOBAL_STATE_KEY:
        raise ValueError(f"the key {life.key!r} is reserved for what the supplier remembers")
    if life.partition is not None:
        check_partition(life.partition)
    for head in life.heads:
        _check_head(head)
    if len({head.dataset for head in life.heads}) < len(life.heads):
        raise ValueError(f"it has two head records of one dataset for {life.key!r}")


def check_supplier_life(supplier: Partition) -> None:
    """Refuse what is no memory of a supplier.

    :raises ValueError: naming the field.
    """
    if supplier.key != GLOBAL_STATE_KEY:
        raise ValueError(f"the supplier's key is {supplier.key!r}, not {GLOBAL_STATE_KEY!r}")
    check_partition(supplier)


def check_partition(one: Partition) -> None:
    """Refuse what a store would not have made of a partition.

    :raises ValueError: naming the field.
    """
    for field in PARTITION_FIELDS:
        _check_field(getattr(one, field.name), field)
    if one.payload_text is not None:
        _check_object("payload", one.payload_text, MAX_PAYLOAD_BYTES)
    decode_progress(one.progress_text)
    if one.accounting_text is not None:
        Accounts.parse(one.accounting_text)
    if one.status is PartitionStatus.UNASSIGNED and one.available_at is None:
        raise ValueError("it is UNASSIGNED and has no 'availableAt', so that nobody could ever acquire it")


def check_document(document: Document) -> None:
    """Refuse what no source keeps as a document.

    :raises ValueError: naming the field.
    :raises InvalidInputError: naming what is corrupt in a view.
    """
    check_key(document.name, "document", MAX_NAME_BYTES)
    for name in ("content", "author", "comment"):
        text: Any = getattr(document, name)
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"the {name!r} of document {document.name!r} is no text")
        _check_text(name, text, MAX_DOCUMENT_BYTES if name == "content" else _TEXT_BYTES)
    version: Any = document.version
    if isinstance(version, bool) or not isinstance(version, int) or not 0 < version < _COUNT:
        raise ValueError(f"the 'version' of document {document.name!r} is {version!r}, which nobody has written")
    _check_time(document.at, "at")
    if document.name == VIEW:
        View.said_by(document)
    else:
        parse(document.content, max_bytes=MAX_DOCUMENT_BYTES, max_depth=64)


def check_heading(found: dict[str, Any], exported_at: datetime) -> None:
    """Refuse a heading that names no source, or facts that no coordinator registers.

    :raises ValueError: naming what it is.
    """
    prefix, facts = found["partition_prefix"], found["facts"]
    if prefix is not None and not isinstance(prefix, str):
        raise ValueError(f"its 'partition_prefix' is {prefix!r}, not a text")
    compose_source(check_key(found["source"], "source", _NAME_BYTES), prefix, "GLOBAL_STATE")
    for name in ("store_id", "store"):
        if not isinstance(found[name], str) or not found[name].isprintable() or len(found[name]) > _TEXT_BYTES:
            raise ValueError(f"its {name!r} is no text of one line")
    if not isinstance(facts, dict) or "self" in facts:
        raise ValueError("its 'facts' are no object of facts")
    check_state(facts)
    dags = [facts.get("dag_id", ""), *(facts.get("dag_ids") or [])]
    if not all(isinstance(dag, str) and dag.isprintable() for dag in dags):
        raise ValueError("its 'facts' name a DAG that is no text of one line")
    _check_time(exported_at, "exported_at")


def _check_head(head: HeadRecord) -> None:
    for field in HEAD_FIELDS:
        if not field.name.startswith("interval_"):
            _check_field(getattr(head, field.name), field)
    _check_interval(head.interval_start, head.interval_end)
    branch, dataset = split_dataset(head.dataset)
    check_key(dataset, "dataset", MAX_DATASET_BYTES)
    if branch is not None and not 0 < branch < _COUNT:
        raise ValueError(f"the head record of {head.dataset!r} is of a branch that nobody can have begun")
    if any(block.dataset != dataset for block in head.blocks):
        raise ValueError(f"the head record of {head.dataset!r} has a block of another dataset")
    if head.accounting_text is not None:
        Accounts.parse(head.accounting_text)


def _check_interval(start: datetime | None, end: datetime | None) -> None:
    """Refuse half an interval, and an empty one. Rows may be of any time, so that it may lie anywhere."""
    if (start is None) is not (end is None) or (start is not None and end is not None and end <= start):
        raise ValueError(f"its 'intervalStart' and 'intervalEnd' are {start} and {end}, which is no interval")


def _check_field(value: Any, field: Field) -> None:
    if value is None or value == ():
        return
    if field.kind is Kind.NUMBER:
        _check_number(value, field)
    elif field.kind is Kind.TIME:
        _check_time(value, field.stored)
    elif field.kind is Kind.BLOCKS:
        _check_blocks(value)
    elif field.kind is Kind.TEXT and field.name != "payload_text":
        limit = _NAME_BYTES if field.name in _NAMES else _LONG.get(field.name, _TEXT_BYTES)
        _check_text(field.stored, value, limit)


def _check_blocks(blocks: Sequence[Block]) -> None:
    dump_blocks(blocks)
    for block in blocks:
        if block.mode not in _MODES or not isinstance(block.follows, str | None):
            raise ValueError(f"a block of {block.dataset!r} has the mode {block.mode!r}, or follows no digest")


def _check_number(value: int, field: Field) -> None:
    least = -_COUNT + 1 if field.name == "priority" else 1 if field.name.startswith("max_") else 0
    if not least <= value < _MOST.get(field.name, _COUNT):
        raise ValueError(f"its {field.stored!r} is {value}, which no store counts")


def _check_time(at: datetime, name: str) -> None:
    if not _FIRST <= at < _LAST:
        raise ValueError(f"its {name!r} is {at}, which is no time between 1970 and 9000")


def _check_text(name: str, text: str, limit: int) -> None:
    if storable(text) != text:
        raise ValueError(f"its {name!r} holds what no store can hold")
    if len(text.encode()) > limit:
        raise ValueError(f"its {name!r} has {len(text.encode())} bytes, the limit is {limit}")


def _check_object(name: str, text: str, limit: int) -> None:
    try:
        found = parse(text, max_bytes=limit, max_depth=64)
    except ValueError as error:
        raise ValueError(f"its {name!r} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"its {name!r} is no JSON object")
