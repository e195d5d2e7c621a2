"""The columns of a partition's row, the way from a row to a value, and where a partition waits.

The seed's attributes keep their names in snake case (Data Prepper: ``sourcePartitionKey`` is
``source_partition_key``). Times are whole microseconds since 1970, documents are texts.

Two small columns drive two narrow partial indexes, so that what nobody waits for (COMPLETED, parked,
deleted) is in neither: ``ready`` for what can be acquired at once, ``timed`` for what becomes due.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from datetime import datetime
from enum import IntEnum
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar

from airflow_coordination.protocol.beside.chunk_sums import SUMMED, ChunkSums, ChunkTotals
from airflow_coordination.protocol.beside.documents import Document
from airflow_coordination.protocol.beside.ended_sums import EndedSums, EndedTenure
from airflow_coordination.protocol.fields import (
    CHUNK_FIELDS,
    DOCUMENT_FIELDS,
    ENDED_FIELDS,
    FOLLOW_UP_FIELDS,
    HEAD_FIELDS,
    HEAD_KEY,
    PARTITION_FIELDS,
    TENURE_FIELDS,
    TENURE_KEY,
    Field,
    Kind,
)
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.protocol.partition import Partition, load_keys
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.blocks import load_blocks, load_each
from airflow_coordination.values.failing import MARK_LENGTH, Failing
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.in_bulk import made_of
from airflow_coordination.values.status import Outcome, PartitionStatus, Rank
from airflow_coordination.values.times import from_micros, moments_of, to_micros, told_moment

T = TypeVar("T")


class Ready(IntEnum):
    """The class in which a partition is ready to be acquired; the order of the classes, "new" in two branches."""

    CRASHED = 0
    REOPENED = 1
    RETURNED = 2
    """New, but held before: it comes back below the place up to which the fresh ones are used up."""
    FRESH = 3


class Timed(IntEnum):
    """What happens to a partition at its time."""

    DELAYED = 0
    """UNASSIGNED until ``available_at``."""
    HELD = 1
    """ASSIGNED until ``partition_ownership_timeout``; ``due_at`` may lie before it, never after."""
    CLOSED = 2
    """CLOSED until ``reopen_at``."""


PARTITIONS: Final = "coordination_partitions"
HEADS: Final = "coordination_heads"
SOURCES: Final = "coordination_sources"
AUDIT: Final = "coordination_audit"
HISTORY: Final = "coordination_history"
FOLLOW_UPS: Final = "coordination_follow_ups"
CHUNKS: Final = "coordination_chunks"
DOCUMENTS: Final = "coordination_documents"
ENDED: Final = "coordination_ended"
CHILDREN: Final = "coordination_children"
"""Who names whom as a parent, to find a parent's children; whether one still waits stands in its own row."""
META: Final = "coordination_meta"

RING: Final = tuple(f"ring_{slot}" for slot in range(RING_SIZE))
PARTITION: Final = ", ".join((*(field.column for field in PARTITION_FIELDS), *RING))
"""The select list that :func:`partition_of` reads."""

HEAD: Final = ", ".join(field.column for field in HEAD_FIELDS)
"""The select list that :func:`heads_of` reads."""
HEAD_KEY_COLUMNS: Final = tuple(field.column for field in HEAD_FIELDS if field.name in HEAD_KEY)
GIVEN_OF_HEAD: Final = HEAD_FIELDS[:-1]
"""What a writer gives of a head record; the time of its publication is the store's."""

PAUSE: Final = "paused, pause_by, pause_why, pause_at, pause_op, pause_until, pause_until_op"
"""What a person sets. An end is that of the operation it names: older code leaves it where it pauses anew."""
FAILS: Final = "failing_error IS NOT NULL"
"""Word by word as in the index of the sources whose newest tenures failed."""
PAUSED: Final = "paused = 1"
"""Word by word as in the index of the paused sources: those whose pause has ended by itself are in it, too."""


def in_force(now: str) -> str:
    """Return the condition that a source is paused: its pause has no end, or one that lies ahead.

    It does not ask whether the end is NULL: SQLite 3.40 says "no" to that in what an upsert returns.
    """
    return f"{PAUSED} AND coalesce(pause_until_op <> pause_op OR pause_until > {now}, TRUE)"


def pause_and_failures(now: str) -> str:
    """Return the select list that :func:`pause_of_row` reads.

    What failed before somebody paused or resumed does not count.
    """
    return f"""CASE WHEN {in_force(now)} THEN 1 ELSE 0 END, pause_by, pause_why, pause_at, pause_op,
        CASE WHEN pause_until_op = pause_op THEN pause_until END,
        CASE WHEN failing_since_op = coalesce(pause_op, '') THEN failing_error END, failing_marks"""


FOLLOW_UP: Final = ", ".join(field.column for field in FOLLOW_UP_FIELDS)
"""The select list that :func:`follow_up_of` reads."""

CHUNK: Final = ", ".join(field.column for field in CHUNK_FIELDS)
"""The select list that :func:`chunk_of` reads."""

DOCUMENT: Final = ", ".join(field.column for field in DOCUMENT_FIELDS)
"""The select list that :func:`document_of` reads."""

ENDED_SUMS: Final = ", ".join(field.column for field in ENDED_FIELDS)
"""The select list that :func:`ended_sums_of` reads."""

TENURE: Final = ", ".join(field.column for field in TENURE_FIELDS)
"""The select list that :func:`past_tenure_of` reads."""
TENURE_KEY_COLUMNS: Final = tuple(field.column for field in TENURE_FIELDS if field.name in TENURE_KEY)


def moment(micros: int | None) -> datetime | None:
    """Return a stored time as a datetime in UTC."""
    return None if micros is None else from_micros(micros)


_DECODERS: Final[dict[Kind, Callable[[Any], Any]]] = {
    Kind.FLAG: bool,
    Kind.TIME: moment,
    Kind.STATUS: PartitionStatus,
    Kind.RANK: Rank,
    Kind.BLOCKS: load_blocks,
    Kind.KEYS: load_keys,
    Kind.OUTCOME: Outcome,
}
"""From a stored value; texts and numbers are what they are."""


class _Decoder(Generic[T]):
    """Makes values of rows.

    :param make: makes one of its fields, by name.
    :param fields: the columns, in order.
    """

    def __init__(self, make: Callable[..., T], fields: Sequence[Field]) -> None:
        self._make = make
        self._names = tuple(field.name for field in fields)
        self._decoders = [
            (place, _DECODERS[field.kind]) for place, field in enumerate(fields) if field.kind in _DECODERS
        ]

    def __call__(self, row: Sequence[Any], **more: Any) -> T:
        values = list(row)
        for place, decode in self._decoders:
            values[place] = decode(values[place])
        return self._make(**dict(zip(self._names, values)), **more)  # noqa: B905  a row may go on


_partition = _Decoder(Partition, PARTITION_FIELDS)
_past_tenure = _Decoder(PastTenure, TENURE_FIELDS)
_follow_up = _Decoder(FollowUp, FOLLOW_UP_FIELDS)
_document = _Decoder(Document, DOCUMENT_FIELDS)
_chunk = _Decoder(ChunkSums, CHUNK_FIELDS)
_ended = _Decoder(EndedSums, ENDED_FIELDS)
_WIDTH: Final = len(PARTITION_FIELDS)


def partition_of(row: Sequence[Any]) -> Partition:
    """Return the partition in a row of ``PARTITION``."""
    return _partition(row, ring=tuple(row[_WIDTH : _WIDTH + RING_SIZE]))


_PLACES: Final = {field.name: place for place, field in enumerate(HEAD_FIELDS)}
_as_made = itemgetter(*(_PLACES[field.name] for field in fields(HeadRecord)))
"""From the order of columns to that in which a head record takes its values."""
_IN_BULK: Final[dict[Kind, Callable[[Sequence[Any]], Sequence[Any]]]] = {
    Kind.TIME: moments_of,
    Kind.BLOCKS: load_each,
}
_HEAD_DECODERS: Final = tuple(
    (_PLACES[field.name], _IN_BULK[field.kind]) for field in HEAD_FIELDS if field.kind in _DECODERS
)
_BATCH: Final = 1_000
"""Rows that are decoded together: more of them fill the processor's cache."""


def heads_of(rows: Sequence[Sequence[Any]]) -> list[HeadRecord]:
    """Return the head records in rows of ``HEAD``, in their order.

    Readers have a hundred thousand of them. Column by column takes half as much of CPU as row by row.
    """
    found: list[HeadRecord] = []
    for first in range(0, len(rows), _BATCH):
        columns: list[Sequence[Any]] = list(zip(*rows[first : first + _BATCH], strict=True))
        for place, decode in _HEAD_DECODERS:
            columns[place] = decode(columns[place])
        found += made_of(HeadRecord, _as_made(columns))
    return found


def pause_of_row(row: Sequence[Any]) -> Pause:
    """Return the pause in a row of :func:`pause_and_failures`; a source that nobody has registered has none."""
    paused, by, why, at, op, until, error, marks = row
    failing = None if error is None else Failing(error, len(marks) // MARK_LENGTH)
    return Pause(bool(paused), by, why, moment(at), op, moment(until), failing)


def follow_up_of(row: Sequence[Any]) -> FollowUp:
    """Return the note in a row of ``FOLLOW_UP``."""
    *found, noted_at = row
    return replace(_follow_up([*found, None]), noted_at=told_moment(noted_at))


AUDITED_AS: Final = "source_partition_key, at, action, acted_by, why, batch"


def audited_of(row: Sequence[Any]) -> dict[str, Any]:
    """Return what somebody did in a row of ``AUDITED_AS``."""
    key, at, action, by, why, batch = row
    return {"key": key, "at": moment(at), "action": action, "by": by, "why": why, "batch": batch}


def past_tenure_of(row: Sequence[Any]) -> PastTenure:
    """Return the ended tenure in a row of ``TENURE``."""
    return _past_tenure(row)


def ended_sums_of(row: Sequence[Any]) -> EndedSums:
    """Return the sums in a row of ``ENDED_SUMS``."""
    return _ended(row)


def given_of_ended(row: EndedSums) -> dict[str, Any]:
    """Return the parameters that write sums of what ended, by column."""
    said = ((field, getattr(row, field.name)) for field in ENDED_FIELDS)
    return {field.column: to_micros(value) if field.kind is Kind.TIME else value for field, value in said}


def ended_tenure_of(row: Sequence[Any]) -> EndedTenure:
    """Return what is counted of a tenure, in a row of :func:`.ended.between`."""
    ended_at, outcome, rows, size = row
    return EndedTenure(from_micros(ended_at), Outcome(outcome), int(rows), int(size))


def document_of(row: Sequence[Any]) -> Document:
    """Return the version of a document in a row of ``DOCUMENT``."""
    return _document(row)


def chunk_of(row: Sequence[Any]) -> ChunkSums:
    """Return the sums of a chunk in a row of ``CHUNK``."""
    return _chunk(row)


def given_of_chunk(row: ChunkSums) -> dict[str, Any]:
    """Return what a writer gives of the sums of a chunk, by column."""
    values = ((field.column, getattr(row, field.name)) for field in CHUNK_FIELDS[:-1])
    given = {column: to_micros(value) if isinstance(value, datetime) else value for column, value in values}
    return {"place": row.place, **given}


def chunk_totals_of(row: Sequence[Any]) -> ChunkTotals:
    """Return what the chunks of a dataset in one state add up to, in a row of :func:`.chunks.totals`."""
    dataset, state, number, *sums = row
    added: dict[str, Any] = dict(zip(SUMMED, map(int, sums), strict=False))
    times = dict(zip(("first", "last", "merged_at", "updated_at"), map(moment, sums[len(SUMMED) :]), strict=True))
    return ChunkTotals(dataset=dataset, state=state, chunks=int(number), **(added | times))


_READY_OF: Final = {Rank.CRASHED: Ready.CRASHED, Rank.REOPENED: Ready.REOPENED, Rank.NEW: Ready.RETURNED}


def waits(status: PartitionStatus, rank: Rank, *, at_once: bool, later: bool) -> tuple[Ready | None, Timed | None]:
    """Return ``ready`` and ``timed`` of a partition that is not fresh; at most one of them.

    :param at_once: whether it can be acquired as soon as it is UNASSIGNED.
    :param later: whether it can be acquired from a time ahead on.
    """
    if status is PartitionStatus.ASSIGNED:
        return None, Timed.HELD
    if status is PartitionStatus.UNASSIGNED and at_once:
        return _READY_OF[rank], None
    if later and status in (PartitionStatus.UNASSIGNED, PartitionStatus.CLOSED):
        return None, Timed.DELAYED if status is PartitionStatus.UNASSIGNED else Timed.CLOSED
    return None, None
