"""Which partitions belong to a group: those it has merged, and those of its chunk that no other group has.

The worker decides it under its lease, by what it reads then; the planner by the same functions. Two who have read at
different times may both take a block. That costs bytes, never rows: readers take each block from one place.
"""

from __future__ import annotations

from collections.abc import Iterator

from airflow_coordination.outputs.merging import epoch_of
from airflow_coordination.outputs.overlays import Overlay, Overlays
from airflow_coordination.outputs.published import head_pages, source_identifier
from airflow_coordination.planning.compaction.chunks import Head
from airflow_coordination.planning.compaction.groups import GroupWork
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.keys import interval_from_key
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord

MOST_BY_KEY = 20
"""So many head records are read one by one; where there are more, all of the dataset are read in pages."""


def interval_of(head: HeadRecord, pattern: str | None) -> Interval | None:
    """Return what a head record is for: its own interval, or the one that its key tells.

    :param pattern: how a key tells it (``CompactionConfig.interval_from_key``).
    """
    if head.interval_start is not None and head.interval_end is not None:
        return Interval(head.interval_start, head.interval_end)
    return interval_from_key(pattern, head.key) if pattern else None


def members(
    store: PartitionStore, source: str, prefix: str | None, group: str, work: GroupWork, overlays: Overlays
) -> list[HeadRecord]:
    """Return the head records of the partitions that a group merges now, by key.

    :param source: the name of the source whose partitions are merged.
    :param group: the group's key.
    :param work: what its payload says.
    :param overlays: those of the dataset, read before.
    :raises OutputError: when a head record is of a kind that is not read here.
    """
    identifier = source_identifier(store, source, prefix)
    own = keys_of(overlays.of(group))
    pages = head_pages(store, identifier, work.dataset, within=work.chunk)
    found = {head.key: head for page in pages for head in page}
    found |= {head.key: head for head in _named(store, identifier, work.dataset, own - found.keys())}
    heads = [head for _, head in sorted(found.items()) if head.blocks]
    if work.is_given_up:
        return [head for head in heads if head.key in own]
    others = by_key(overlays, work.epoch).keys() - own
    return [head for head in heads if head.key in own or (head.key not in others and _is_in(head, work))]


def keys_of(overlay: Overlay | None) -> set[str]:
    """Return the keys of the partitions that an overlay has rows of."""
    return {origin.key for origin in overlay.covers} if overlay else set()


def _named(store: PartitionStore, identifier: str, dataset: str, keys: set[str]) -> Iterator[HeadRecord]:
    """Yield the head records of partitions whose interval is another one now."""
    if len(keys) <= MOST_BY_KEY:
        for key in sorted(keys):
            yield from store.heads(identifier, dataset=dataset, key=key)
        return
    for page in head_pages(store, identifier, dataset):
        yield from (head for head in page if head.key in keys)


def _is_in(head: HeadRecord, work: GroupWork) -> bool:
    interval = interval_of(head, work.config.interval_from_key)
    return interval is not None and work.chunk.contains(interval) and work.takes(head.key)


def by_key(overlays: Overlays, epoch: int) -> dict[str, Overlay]:
    """Return what has the rows of each partition that is merged in an epoch."""
    row = [overlay for overlay in overlays.row if epoch_of(overlay.key) == epoch]
    return {origin.key: overlay for overlay in row for origin in overlay.covers}


def planned(head: HeadRecord, interval: Interval, overlay: Overlay | None) -> Head:
    """Return a head record as compaction is planned with it.

    :param interval: what it is for.
    :param overlay: what has its rows in this epoch: what merging it again costs is its share of that, and what was
        added since.
    """
    if overlay is None or overlay.manifest.merged is None:
        return Head(head.key, interval, head.bytes)
    mine = overlay.of_partition(head.key)
    covered = {origin.digest for origin in mine}
    added = sum(block.bytes for block in head.blocks if block.digest not in covered)
    manifest, merged = overlay.manifest, overlay.manifest.merged
    share = sum(origin.rows for origin in mine) / max(1, manifest.rows)
    size = sum(file.size for file in manifest.files)
    largest = max((file.size for file in manifest.files), default=0)
    whole = all(block.digest in covered for block in head.blocks)
    return Head(
        head.key,
        interval,
        int(size * share) + added,
        merged_with=merged.merged_with if whole else None,
        largest_file=largest,
        part=merged.part,
    )
