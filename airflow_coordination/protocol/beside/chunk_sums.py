"""The sums of a dataset's chunks: what the planner of compaction saw there, for people to look at.

They are a display and never decide anything: what is merged, a worker finds out under its lease; what is read, a walk.
So a sum that is old or missing costs nobody a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from airflow_coordination.protocol.fields import CHUNK_FIELDS, Kind
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.input_errors import InvalidInputError, printable
from airflow_coordination.values.names import check_key
from airflow_coordination.values.times import to_micros

MAX_REASON: Final = 500
"""Characters of a reason that are kept."""
MAX_NUMBER: Final = 2**63 - 1
UNBOUNDED: Final = "~"
"""The place of what has no interval: behind all that has."""
_DIGITS, _LATER_THAN_ANY = 19, 10**18
_COUNTS: Final = tuple(field.name for field in CHUNK_FIELDS if field.kind is Kind.NUMBER)


class ChunkState(StrEnum):
    """How a chunk is, as far as readers are concerned."""

    FRESH = "fresh"
    """Nothing of it is merged."""
    PARTLY = "partly"
    """An overlay stands for some of its blocks."""
    MERGED = "merged"
    """An overlay stands for all of them."""
    LEFT_OUT = "left out"
    """No plan merges it as it is now; the reason says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkSums:
    """What is known of one chunk of a dataset. Whatever is not known is ``None``.

    :param dataset: the dataset.
    :param chunk_start: from when on, ``None`` together with the end for what has no interval.
    :param chunk_end: up to when, itself excluded.
    :param state: one of :class:`ChunkState`; another word is from newer code.
    :param heads: how many partitions have published in it.
    :param uncovered_heads: of how many no overlay stands for all blocks.
    :param rows: rows that readers find.
    :param dead_rows: rows of overlays that no reader takes, because their blocks were replaced.
    :param files_before: files of the originals.
    :param bytes_before: bytes of the originals.
    :param uncovered_bytes: bytes of the originals for which no overlay stands.
    :param files_now: files that readers open.
    :param bytes_now: bytes in them.
    :param merged_at: when an overlay of it was published last, by the store's clock.
    :param reason: why it is merged next, or is not: a line for people, cut at 500 characters.
    :param epoch: the epoch of its newest group.
    :param group_key: the key of its newest group, in ``~merged/<source>``; the first of several parts.
    :param updated_at: when this was written, by the store's clock; what is given here is not stored.
    :raises InvalidInputError: naming the field that cannot be stored.
    """

    dataset: str
    chunk_start: datetime | None = None
    chunk_end: datetime | None = None
    state: str = ChunkState.FRESH
    heads: int | None = None
    uncovered_heads: int | None = None
    rows: int | None = None
    dead_rows: int | None = None
    files_before: int | None = None
    bytes_before: int | None = None
    uncovered_bytes: int | None = None
    files_now: int | None = None
    bytes_now: int | None = None
    merged_at: datetime | None = None
    reason: str | None = None
    epoch: int | None = None
    group_key: str | None = None
    updated_at: datetime | None = None

    def __post_init__(self) -> None:
        check_key(self.dataset, "chunk.dataset", MAX_DATASET_BYTES)
        if self.reason is not None:
            object.__setattr__(self, "reason", printable(self.reason, MAX_REASON))
        for name in _COUNTS:
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not _fits(value)):
                problem, remedy = "is no whole number from 0 to 2^63 - 1", "Leave out what is not known"
                raise InvalidInputError(f"chunk.{name}", value, problem, remedy)
        self._check_interval()

    def _check_interval(self) -> None:
        start, end = self.chunk_start, self.chunk_end
        if start is None and end is None:
            return
        if start is None or end is None or not start.tzinfo or not end.tzinfo or end <= start:
            problem = "is no interval: it needs a start and a later end, both with a time zone"
            raise InvalidInputError("chunk.chunk_start, chunk_end", (start, end), problem, "Give both, or neither")

    @property
    def place(self) -> str:
        """Where it stands among the chunks of its dataset: the newest first, and what has no interval last."""
        if self.chunk_start is None or self.chunk_end is None:
            return UNBOUNDED
        ends = (_LATER_THAN_ANY - to_micros(moment) for moment in (self.chunk_end, self.chunk_start))
        return "|".join(f"{number:0{_DIGITS}}" for number in ends)


def _fits(number: int) -> bool:
    return 0 <= number <= MAX_NUMBER


def in_order(rows: Iterable[ChunkSums]) -> list[ChunkSums]:
    """Return the last row of each chunk, in the order in which they are listed: two writers at once never cross."""
    last = {(row.dataset, row.place): row for row in rows}
    return [last[place] for place in sorted(last)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkTotals:
    """What the chunks of a dataset that are in one state add up to; sums are of what is known of each.

    :param dataset: the dataset.
    :param state: their state.
    :param chunks: how many they are.
    :param first: from when on the first of them is, ``None`` where none has an interval.
    :param last: up to when the last of them is.
    :param merged_at: when one of them was merged last.
    :param updated_at: when one of them was looked at last.
    :param whole: whether all chunks of the dataset are in it; where reading is dear, only the newest.

    The others are as in :class:`ChunkSums`.
    """

    dataset: str
    state: str
    chunks: int = 0
    heads: int = 0
    uncovered_heads: int = 0
    rows: int = 0
    dead_rows: int = 0
    files_before: int = 0
    bytes_before: int = 0
    uncovered_bytes: int = 0
    files_now: int = 0
    bytes_now: int = 0
    first: datetime | None = None
    last: datetime | None = None
    merged_at: datetime | None = None
    updated_at: datetime | None = None
    whole: bool = True


SUMMED: Final = tuple(name for name in _COUNTS if name != "epoch")
"""What of a chunk is added up."""


def added_up(rows: Iterable[ChunkSums]) -> Sequence[ChunkTotals]:
    """Return the totals of chunks by dataset and state, in this order."""
    found: dict[tuple[str, str], ChunkTotals] = {}
    for row in rows:
        place = row.dataset, row.state
        before = found.get(place) or ChunkTotals(dataset=row.dataset, state=row.state)
        sums = {name: getattr(before, name) + (getattr(row, name) or 0) for name in SUMMED}
        found[place] = replace(
            before,
            chunks=before.chunks + 1,
            first=min(filter(None, (before.first, row.chunk_start)), default=None),
            last=_latest(before.last, row.chunk_end),
            merged_at=_latest(before.merged_at, row.merged_at),
            updated_at=_latest(before.updated_at, row.updated_at),
            **sums,
        )
    return [found[place] for place in sorted(found)]


def _latest(*moments: datetime | None) -> datetime | None:
    return max(filter(None, moments), default=None)
