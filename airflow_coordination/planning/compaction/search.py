"""Which chunks are compacted next, why, and why the others are not.

Source: Druid, ``CompactSegments`` with ``NewestSegmentFirstPolicy`` and ``MostFragmentedIntervalFirstPolicy``: over all
datasets at once, the newest first; what is too large or locked is passed over, and the search goes on behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from airflow_coordination.planning.buckets import granularity as granularity_of
from airflow_coordination.planning.compaction.chunks import Chunk, Head, chunks, split
from airflow_coordination.planning.compaction.configuration import GRANULARITY, CompactionConfig, Oversize, by_dataset
from airflow_coordination.planning.compaction.fingerprint import differences, fingerprint
from airflow_coordination.planning.compaction.skipping import behind_offset
from airflow_coordination.planning.intervals import Interval, newest_first
from airflow_coordination.values.input_errors import InvalidInputError

_TOO_LARGE: Final = 1.5


class Reason(StrEnum):
    """Why a chunk is compacted, or is not."""

    NEVER = "never compacted"
    MIXED = "compacted in different ways"
    CHANGED = "configuration changed"
    LARGE_FILE = "a file is too large"
    DONE = "nothing to do"
    DISABLED = "switched off"
    EMPTY = "no bytes"
    TOMBSTONE = "a lone tombstone"
    UNBOUNDED = "unbounded interval"
    OFFSET = "inside the offset"
    LOCKED = "locked"
    OVER_LIMIT = "over the limit"
    WAITING = "too many failures"
    NOT_FRAGMENTED = "not fragmented enough"


class Policy(StrEnum):
    """Which groups come first."""

    NEWEST_FIRST = "newest first"
    MOST_FRAGMENTED = "most fragmented first"


@dataclass(frozen=True, slots=True)
class Fragmentation:
    """When a chunk is fragmented enough for :attr:`Policy.MOST_FRAGMENTED`; the defaults are Druid's.

    :param least_heads: how many it has at least.
    :param least_bytes: how many bytes it has at least.
    :param most_average: the most bytes that each has on the average.
    """

    least_heads: int = 100
    least_bytes: int = 10 * 2**20
    most_average: int = 2 * 2**30

    def index(self, heads: int, size: int) -> float | None:
        """Return how fragmented a chunk is; ``None`` when it is not enough."""
        if heads < self.least_heads or size < self.least_bytes or size > self.most_average * heads:
            return None
        return heads + self.least_heads * self.most_average * heads / max(size, 1)


@dataclass(frozen=True, slots=True)
class Dataset:
    """What is known of a dataset.

    :param config: how it is compacted.
    :param heads: what it has.
    :param locked: intervals in which something else is at work, or that are being compacted now, each with by whom.
    :param waiting: intervals of groups that have failed too often, each with until when.
    """

    config: CompactionConfig
    heads: Sequence[Head]
    locked: Mapping[Interval, str] = field(default_factory=dict)
    waiting: Mapping[Interval, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Group:
    """Something that is compacted together, or is not.

    :param dataset: the name of its dataset.
    :param chunk: the buckets it lies in.
    :param interval: the umbrella of what is in it.
    :param heads: what is in it.
    :param reason: why.
    :param detail: the reason's figures or names; may be empty.
    :param part: its number, where a chunk is merged in parts.
    """

    dataset: str
    chunk: Interval
    interval: Interval
    heads: tuple[Head, ...]
    reason: Reason
    detail: str = ""
    part: int = 0

    @property
    def bytes(self) -> int:
        """What reading it costs."""
        return sum(head.bytes for head in self.heads)

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else str(self.reason)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search has found.

    :param groups: what to compact, in the order in which it should be done.
    :param done: what was compacted with the present configuration.
    :param left: what is not compacted now, each with its reason.
    """

    groups: tuple[Group, ...]
    done: tuple[Group, ...]
    left: tuple[Group, ...]


def search(
    datasets: Iterable[Dataset],
    policy: Policy = Policy.NEWEST_FIRST,
    *,
    first: str | None = None,
    fragmentation: Fragmentation | None = None,
) -> Found:
    """Return what to compact, newest first over all datasets: by end, then start, then the dataset's name.

    :param first: a dataset whose groups come before all others.
    :param fragmentation: when a chunk counts as fragmented, for that policy.
    :raises InvalidInputError: when two datasets have one name.
    """
    row = list(datasets)
    by_dataset(one.config for one in row)
    found = [group for one in row for group in _judged(one)]
    compacted = [group for group in found if group.reason in TO_DO]
    left = [group for group in found if group.reason not in TO_DO and group.reason is not Reason.DONE]
    if policy is Policy.MOST_FRAGMENTED:
        compacted, scattered = _by_fragmentation(compacted, fragmentation or Fragmentation())
        left += scattered
    else:
        compacted.sort(key=lambda group: (*newest_first(group.interval), group.dataset, group.part))
    compacted.sort(key=lambda group: group.dataset != first)
    done = tuple(group for group in found if group.reason is Reason.DONE)
    return Found(tuple(compacted), done, tuple(left))


TO_DO: Final = frozenset({Reason.NEVER, Reason.MIXED, Reason.CHANGED, Reason.LARGE_FILE})
"""The reasons of what is compacted next."""


def _by_fragmentation(groups: Sequence[Group], rule: Fragmentation) -> tuple[list[Group], list[Group]]:
    rated = [(rule.index(len(group.heads), group.bytes), group) for group in groups]
    enough = sorted(
        ((index, group) for index, group in rated if index is not None),
        key=lambda pair: (-pair[0], *newest_first(pair[1].interval), pair[1].dataset),
    )
    scattered = [_as(group, Reason.NOT_FRAGMENTED) for index, group in rated if index is None]
    return [group for _, group in enough], scattered


def _as(group: Group, reason: Reason, detail: str = "") -> Group:
    return Group(group.dataset, group.chunk, group.interval, group.heads, reason, detail, group.part)


def _judged(dataset: Dataset) -> Iterator[Group]:
    """Yield everything that a dataset has, each with its reason."""
    config = dataset.config
    bounded = [head for head in dataset.heads if head.interval.is_bounded]
    for head in dataset.heads:
        if not head.interval.is_bounded:
            reason = Reason.UNBOUNDED if config.enabled else Reason.DISABLED
            yield Group(config.dataset, head.interval, head.interval, (head,), reason)
    if not bounded:
        return
    latest = max(head.interval.end for head in bounded)
    behind = behind_offset(latest, config.skip_offset_from_latest, config.granularity)
    for chunk in chunks(bounded, config.granularity, config.straddling):
        yield from _of_chunk(dataset, chunk, behind)


def _of_chunk(dataset: Dataset, chunk: Chunk, behind: Interval) -> Iterator[Group]:
    config, whole, size = dataset.config, chunk.umbrella, chunk.bytes
    if config.oversize is not Oversize.SPLIT or not (
        size > config.input_bytes or any(head.part is not None for head in chunk.heads)
    ):
        yield _group(dataset, chunk, behind, whole, size, whole, 0)
        return
    for number, heads in split(chunk.heads, config.input_bytes):
        part = Chunk(chunk.interval, heads)
        yield _group(dataset, part, behind, part.umbrella, part.bytes, whole, number)


def _group(
    dataset: Dataset, part: Chunk, behind: Interval, interval: Interval, size: int, whole: Interval, number: int
) -> Group:
    """Return what becomes of a part, whose umbrella and bytes are known; a chunk has a hundred heads, or a thousand."""
    config = dataset.config
    reason, detail = _barred(dataset, part, behind, whole) or _why(part, size, config)
    if reason in TO_DO and size > config.input_bytes:
        reason, detail = Reason.OVER_LIMIT, f"{size} of {config.input_bytes} bytes"
    if reason in TO_DO and part.interval in dataset.waiting:
        reason, detail = Reason.WAITING, dataset.waiting[part.interval]
    return Group(config.dataset, part.interval, interval, part.heads, reason, detail, number)


def _barred(dataset: Dataset, part: Chunk, behind: Interval, whole: Interval) -> tuple[Reason, str] | None:
    """Return why something is not looked at: only what lies wholly beside all that is skipped is."""
    places = (part.interval, whole)
    if not dataset.config.enabled:
        return Reason.DISABLED, ""
    if any(place.overlaps(behind) for place in places):
        return Reason.OFFSET, str(behind)
    for interval, holder in dataset.locked.items():
        if any(place.overlaps(interval) for place in places):
            return Reason.LOCKED, holder
    return None


def _why(part: Chunk, size: int, config: CompactionConfig) -> tuple[Reason, str]:
    """Return why something is compacted, or that it need not be."""
    if len(part.heads) == 1 and part.heads[0].is_tombstone:
        return Reason.TOMBSTONE, ""
    if not size:
        return Reason.EMPTY, ""
    if new := sum(head.merged_with is None for head in part.heads):
        return Reason.NEVER, f"{new} of {len(part.heads)}"
    # What one file was merged with is one object for all that is in it.
    every = {id(head.merged_with): head.merged_with for head in part.heads}
    states = [state for state in every.values() if state is not None]
    if len({fingerprint(_normal(state)) for state in states}) > 1:
        return Reason.MIXED, ""
    if changed := _changed(part, config, _normal(states[0])):
        return Reason.CHANGED, "; ".join(changed)
    largest = max(head.largest_file for head in part.heads)
    if config.target_file_size is not None and largest > _TOO_LARGE * config.target_file_size:
        return Reason.LARGE_FILE, f"{largest} bytes"
    return Reason.DONE, ""


def _changed(part: Chunk, config: CompactionConfig, state: Mapping[str, Any]) -> list[str]:
    """Return what has changed. Files that do not say their granularity have it if they are made of whole buckets."""
    spec = dict(config.spec)
    size = config.granularity
    if size is not None and GRANULARITY not in state:
        del spec[GRANULARITY]
        if not all(size.is_aligned(head.interval) for head in part.heads):
            return [f"{GRANULARITY}: not in whole buckets → {size}", *differences(spec, state)]
    return differences(spec, state)


def _normal(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state in which a granularity is written as the configuration writes it."""
    found = {name: value for name, value in state.items() if value is not None}
    try:
        if GRANULARITY in found:
            found[GRANULARITY] = str(granularity_of(GRANULARITY, found[GRANULARITY]))
    except InvalidInputError:
        pass  # what it was merged with is no granularity any more, so it is another than the configured one
    return found
