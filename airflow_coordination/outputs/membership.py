"""Which partitions belong to a group: those it has merged, and those of its chunk that no other group has.

The worker decides it under its lease, by what it reads then; the planner by the same functions. Two who have read at
different times may both take a block. That costs bytes, never rows: readers take each block from one place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from operator import le
from typing import Any

from airflow_coordination.outputs.heads.standing import Standing
from airflow_coordination.outputs.merging import epoch_of
from airflow_coordination.outputs.origins import Origin
from airflow_coordination.outputs.overlays import Overlay, Overlays
from airflow_coordination.planning.compaction.chunks import Head
from airflow_coordination.planning.compaction.groups import GroupWork
from airflow_coordination.planning.intervals import Interval, parse_interval
from airflow_coordination.planning.keys import interval_from_key
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.in_bulk import made_of


def interval_of(head: HeadRecord, pattern: str | None) -> Interval | None:
    """Return what a head record is for: its own interval, or the one that its key tells.

    :param pattern: how a key tells it (``CompactionConfig.interval_from_key``).
    """
    if head.interval_start is not None and head.interval_end is not None:
        return Interval(head.interval_start, head.interval_end)
    return interval_from_key(pattern, head.key) if pattern else None


def intervals_of(heads: Sequence[HeadRecord], pattern: str | None, others: Interval) -> list[Interval]:
    """Return what each of many head records is for, as :func:`interval_of` does.

    :param pattern: as there.
    :param others: of those that are for none.
    """
    starts, ends = ([getattr(head, name) for head in heads] for name in ("interval_start", "interval_end"))
    plain = all(each is not None and each.tzinfo is UTC for each in (*starts, *ends)) and all(map(le, starts, ends))
    if not plain:
        return [interval_of(head, pattern) or others for head in heads]
    return made_of(Interval, (starts, ends)) if heads else []


def locks(view: View) -> dict[Interval, str]:
    """Return where branches are at work, whose partitions publish anew: what is there is not merged before they show.

    That saves work, and nothing depends on it.
    """
    begun = ((branch.interval, branch.number) for branch in view.branches if branch.begun)
    return {interval: f"by branch {number}" for interval, number in begun if interval is not None}


def members(group: str, work: GroupWork, overlays: Overlays, standing: Standing) -> list[HeadRecord]:
    """Return the head records of the partitions that a group merges now, by key.

    :param group: the group's key.
    :param work: what its payload says.
    :param overlays: those of the dataset, read before.
    :param standing: what the partitions of the dataset have published.
    :raises OutputError: when a head record is of a kind that is not read here.
    """
    own = keys_of(overlays.of(group))
    found = {head.key: head for page in standing.pages(work.chunk) for head in page}
    found |= {head.key: head for head in standing.of(own - found.keys())}  # whose interval is another one now
    heads = [head for _, head in sorted(found.items())]
    if work.is_given_up:
        return [head for head in heads if head.key in own]
    others = by_key(overlays, work.epoch).keys() - own
    return [head for head in heads if head.key in own or (head.key not in others and _is_in(head, work))]


def keys_of(overlay: Overlay | None) -> set[str]:
    """Return the keys of the partitions that an overlay has rows of."""
    return {origin.key for origin in overlay.covers} if overlay else set()


def _is_in(head: HeadRecord, work: GroupWork) -> bool:
    interval = interval_of(head, work.config.interval_from_key)
    return interval is not None and work.chunk.contains(interval) and work.takes(head.key)


def named(heads: Iterable[HeadRecord]) -> set[tuple[str, str]]:
    """Return the places of the blocks that head records name (:attr:`~.origins.Origin.place`)."""
    return {(head.key, block.digest) for head in heads for block in head.blocks}


def dead_rows(overlay: Overlay, places: Collection[tuple[str, str]]) -> int:
    """Return how many rows of an overlay are of blocks that no head record names any more.

    :param places: of the blocks that are named.
    """
    return sum(origin.rows for origin in overlay.covers if origin.place not in places)


def chunk_of(overlay: Overlay) -> Interval:
    """Return the chunk that an overlay is of."""
    merged = overlay.manifest.merged
    return parse_interval("overlay.chunk", merged.chunk if merged else "")


@dataclass(frozen=True, slots=True)
class Share:
    """What an overlay has of one partition.

    :param overlay: which one.
    :param digests: of the partition's blocks that it stands for.
    :param bytes: its files' bytes, as many of them as it has rows of the partition.
    :param largest_file: bytes of its largest file.
    """

    overlay: Overlay
    digests: frozenset[str]
    bytes: int
    largest_file: int


def shares_of(overlay: Overlay) -> dict[str, Share]:
    """Return what an overlay has of each partition, by key."""
    origins: dict[str, list[Origin]] = {}
    for origin in overlay.covers:
        origins.setdefault(origin.key, []).append(origin)
    manifest = overlay.manifest
    size, largest = manifest.size, max((file.size for file in manifest.files), default=0)
    rows, number = max(1, manifest.rows), len(origins)
    digests = [frozenset([origin.digest for origin in those]) for those in origins.values()]
    sizes = [int(size * (sum([origin.rows for origin in those]) / rows)) for those in origins.values()]
    return dict(zip(origins, made_of(Share, ([overlay] * number, digests, sizes, [largest] * number)), strict=True))


def by_key(overlays: Overlays, epoch: int) -> dict[str, Share]:
    """Return what has the rows of each partition that is merged in an epoch."""
    found: dict[str, Share] = {}
    for overlay in overlays.row:
        if epoch_of(overlay.key) == epoch:
            found |= shares_of(overlay)
    return found


def planned(head: HeadRecord, interval: Interval, share: Share | None) -> Head:
    """Return a head record as compaction is planned with it.

    :param interval: what it is for.
    :param share: what is merged of it in this epoch: merging it again costs that, and what was added since.
    """
    return Head(*_line(head, interval, share))


def planned_each(heads: Sequence[HeadRecord], intervals: Iterable[Interval], shares: Mapping[str, Share]) -> list[Head]:
    """Return what :func:`planned` returns of each: a plan has a hundred thousand.

    :param heads: of several partitions.
    :param intervals: what each is for.
    :param shares: what is merged of them, by key.
    """
    if not heads:
        return []
    lines = [_line(head, interval, shares.get(head.key)) for head, interval in zip(heads, intervals, strict=True)]
    return made_of(Head, list(zip(*lines, strict=True)))


_Line = tuple[str, Interval, int, Mapping[str, Any] | None, int, int | None, bool]
"""The fields of a :class:`Head`, in their order."""


def _line(head: HeadRecord, interval: Interval, share: Share | None) -> _Line:
    merged = share.overlay.manifest.merged if share else None
    if share is None or merged is None:
        return head.key, interval, sum([block.bytes for block in head.blocks]), None, 0, None, False
    added = [block.bytes for block in head.blocks if block.digest not in share.digests]
    state = None if added else merged.merged_with
    return head.key, interval, share.bytes + sum(added), state, share.largest_file, merged.part, False
