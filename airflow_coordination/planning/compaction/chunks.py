"""What is merged together: the chunks of a dataset, and the parts of one that is too large."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final

from airflow_coordination.planning.buckets import Granularity
from airflow_coordination.planning.compaction.configuration import Straddling
from airflow_coordination.planning.intervals import Interval, umbrella
from airflow_coordination.values.input_errors import InvalidInputError

_INSTANT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Head:
    """What one partition has published, as far as compaction asks (Druid: a segment).

    :param name: what tells it from all others of its dataset; parts are cut in the order of names.
    :param interval: what it is for.
    :param bytes: what reading it costs, from 0 on.
    :param merged_with: the configuration it was merged with; ``None`` if it never was.
    :param largest_file: bytes of its largest file that can be split, because it has two row groups at least.
    :param part: the part of its chunk that it was merged in, which it does not leave.
    :param is_tombstone: whether it only says that nothing is there.
    :raises InvalidInputError: when its bytes are negative.
    """

    name: Hashable
    interval: Interval
    bytes: int
    merged_with: Mapping[str, Any] | None = None
    largest_file: int = 0
    part: int | None = None
    is_tombstone: bool = False

    def __post_init__(self) -> None:
        if self.bytes < 0:
            raise InvalidInputError(f"head[{self.name}].bytes", self.bytes, "is negative", "Give the sum of its files")


@dataclass(frozen=True, slots=True)
class Chunk:
    """What is judged and merged together.

    :param interval: the buckets it is made of; without a granularity the interval of what is in it.
    :param heads: what is in it, by interval and name.
    """

    interval: Interval
    heads: tuple[Head, ...]

    @property
    def umbrella(self) -> Interval:
        """The shortest interval with everything in it."""
        return umbrella(head.interval for head in self.heads)

    @property
    def bytes(self) -> int:
        """What reading it costs."""
        return sum(head.bytes for head in self.heads)


def chunks(heads: Iterable[Head], granularity: Granularity | None, straddling: Straddling) -> list[Chunk]:
    """Return the chunks, the oldest first. Intervals with an open side have none.

    Without a granularity, what overlaps is together.
    """
    row = sorted((head for head in heads if head.interval.is_bounded), key=_order)
    if granularity is not None and straddling is Straddling.EACH:
        return _by_bucket(row, granularity)
    touched = list(_touched(row, granularity)) if granularity else [(head.interval, head) for head in row]
    return _components(touched)


def _touched(row: Iterable[Head], granularity: Granularity) -> Iterator[tuple[Interval, Head]]:
    """Yield each head with the buckets that it has a part in; mostly it lies in the one that the last did."""
    bucket: Interval | None = None
    for head in row:
        if bucket is None or head.interval.is_empty or not bucket.contains(head.interval):
            touched = granularity.touched(head.interval)
            bucket = touched if granularity.is_bucket(touched) else None
            yield touched, head
        else:
            yield bucket, head


def _order(head: Head) -> tuple[datetime, datetime, str]:
    return head.interval.start, head.interval.end, str(head.name)


def _components(touched: Sequence[tuple[Interval, Head]]) -> list[Chunk]:
    """Return what overlaps, directly or by others in between, together.

    :param touched: in the order of the heads' intervals, which is that of what they touch.
    """
    found: list[tuple[Interval, list[Head]]] = []
    for interval, head in touched:
        if found and interval is found[-1][0]:  # as mostly: the bucket of the one before
            found[-1][1].append(head)
        elif found and interval.overlaps(found[-1][0]):
            inside = found[-1][1]
            inside.append(head)
            if not found[-1][0].contains(interval):
                found[-1] = (umbrella([found[-1][0], interval]), inside)
        else:
            found.append((interval, [head]))
    return [Chunk(interval, tuple(inside)) for interval, inside in found]


def _by_bucket(row: Sequence[Head], granularity: Granularity) -> list[Chunk]:
    """Return a chunk for each set of heads that shares a bucket, an umbrella once.

    Of the buckets only those count at which the set changes: a day in minutes has 1,440.
    """
    buckets = list(_changes(row, granularity))
    starts = [bucket.start for bucket in buckets]
    inside: list[list[Head]] = [[] for _ in buckets]
    for head in row:
        first = max(bisect_right(starts, head.interval.start) - 1, 0)
        for number in range(first, bisect_left(starts, head.interval.end)):
            if head.interval.overlaps(buckets[number]):
                inside[number].append(head)
    chunks_there = [Chunk(bucket, tuple(there)) for bucket, there in zip(buckets, inside, strict=True) if there]
    return list({chunk.umbrella: chunk for chunk in reversed(chunks_there)}.values())[::-1]


def _changes(row: Sequence[Head], granularity: Granularity) -> Iterator[Interval]:
    at = chain.from_iterable((head.interval.start, head.interval.end - _INSTANT, head.interval.end) for head in row)
    starts = {granularity.floor(moment) for moment in at}
    after = {granularity.period.after(start) for start in starts}
    for start in sorted(starts | after):
        yield Interval(start, granularity.period.after(start))


def split(heads: Iterable[Head], limit: int) -> list[tuple[int, tuple[Head, ...]]]:
    """Return a chunk in parts, in the order of names, with their numbers.

    What was merged in a part stays there, because the merged file of that part has its rows. The others fill up the
    last part, and then new ones; one that is larger than the limit by itself has a part by itself.

    :param limit: the most bytes of a part.
    """
    parts: dict[int, list[Head]] = {}
    row = sorted(heads, key=lambda head: str(head.name))
    for head in row:
        if head.part is not None:
            parts.setdefault(head.part, []).append(head)
    last = max(parts, default=-1)
    size = sum(one.bytes for one in parts.get(last, ()))
    for head in (one for one in row if one.part is None):
        if last < 0 or size + head.bytes > limit:
            last, size = last + 1, 0
        parts.setdefault(last, []).append(head)
        size += head.bytes
    return [(number, tuple(parts[number])) for number in sorted(parts)]
