"""The workers of upkeep: one merges the rows of a group into an overlay, the other copies a chunk into a location.

They run like every partition function, by ``LeasedSparkSubmitOperator(application=upkeep.__file__, …)`` or
``drain(upkeep.compact, source="~merged/<source>", …)``, and ``upkeep.copy`` for ``~copies/<source>``. What they make is
published by the ordinary ending of a partition, so ingest and upkeep never wait for one another, and of a driver that
was believed dead nothing counts.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from airflow_coordination.leases.outcomes import Complete, GiveUp, PartitionOutcome
from airflow_coordination.outputs.attempts import OpenBlock, check_published
from airflow_coordination.outputs.copies.locations import Site, locations_document, missing, sites_of
from airflow_coordination.outputs.copies.making import AGAIN, made, wanted_of
from airflow_coordination.outputs.copies.reading import pieces_of
from airflow_coordination.outputs.heads.standing import Standing
from airflow_coordination.outputs.membership import locks, members
from airflow_coordination.outputs.merging import Merge, check_walk, gathered, given_up
from airflow_coordination.outputs.origins import Merged
from airflow_coordination.outputs.overlays import Overlay, Overlays, source_of
from airflow_coordination.outputs.published import read_overlays, source_identifier
from airflow_coordination.planning.compaction.groups import GroupWork
from airflow_coordination.planning.copies.work import CopyWork
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.spark.application import partition_application
from airflow_coordination.spark.lease import PartitionLease
from airflow_coordination.spark.merged_rows import check_counted, check_same, merged_rows, sums, write, written
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.values.names import COPIES, split_source

log = logging.getLogger(__name__)

LOCKED_FOR: Final = timedelta(minutes=5)
"""So long a group waits until it looks anew whether a branch is at work."""
ATTENTIVE: Final = 4.0
"""Seconds between two looks at the group's lease: who begins a branch takes it away, and this work ends within 5."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was read under the group's lease: overlays first, then heads; and by whom the group is locked."""

    overlays: Overlays
    present: Overlay | None
    heads: Sequence[HeadRecord]
    locked: str | None


@partition_application
def compact(spark: Any, lease: PartitionLease) -> Complete | GiveUp:
    """Merge one group, or find that there is nothing to do, or that a branch is at work in its chunk.

    :param spark: the session, classic or Connect.
    :param lease: of a partition of ``~merged/<source>``.
    :raises OutputError: when something is missing; for *incompatible schemas* and *checksum differs*; when the new
        overlay would let go of what readers meet. Nothing is changed for readers then.
    :raises InvalidInputError: when the partition's payload is not that of a group.
    """
    work = GroupWork.from_payload(lease.partition.payload)
    with lease.attentive(ATTENTIVE):
        return _compacted(spark, lease, work)


def _compacted(spark: Any, lease: PartitionLease, work: GroupWork) -> Complete | GiveUp:
    seen = _read(lease, work)
    if seen.locked:
        return GiveUp(f"Group {lease.partition.key!r} is locked {seen.locked}, until that one shows", LOCKED_FOR)
    if work.is_given_up:
        return _give_up(lease, work, seen)
    merge = gathered(seen.heads, seen.overlays)
    if _is_done(merge, seen, work):
        log.info("Group %r has nothing to do", lease.partition.key)
        return Complete()
    _merge(spark, lease, work, merge, seen)
    return Complete()


def _read(lease: PartitionLease, work: GroupWork) -> _Seen:
    store, group = lease.coordinator.store, lease.partition.key
    prefix, name, _ = split_source(lease.partition.source)
    source = source_of(name)
    overlays = read_overlays(store, source, work.dataset, prefix)
    standing = Standing(store, source_identifier(store, source, prefix), work.dataset)
    locked = (by for interval, by in locks(standing.view).items() if interval.overlaps(work.chunk))
    return _Seen(overlays, overlays.of(group), members(group, work, overlays, standing), next(locked, None))


def _give_up(lease: PartitionLease, work: GroupWork, seen: _Seen) -> Complete:
    """Publish an empty overlay, if later epochs have everything; otherwise the group waits for them."""
    if seen.present and seen.present.covers and given_up(lease.partition.key, seen.present, seen.overlays, seen.heads):
        with _overlay(lease, work, Merged(covers=())):
            log.info("Group %r is given up: later epochs have all of it", lease.partition.key)
    return Complete()


def _is_done(merge: Merge, seen: _Seen, work: GroupWork) -> bool:
    """Return whether the present overlay is what would be merged now."""
    if seen.present is None:
        return not merge.origins
    known = seen.present.manifest.merged
    same = {origin.digest for origin in merge.origins} == {origin.digest for origin in seen.present.covers}
    return same and not merge.originals and (known is None or dict(known.merged_with) == dict(work.config.spec))


def _overlay(lease: PartitionLease, work: GroupWork, merged: Merged) -> AbstractContextManager[OpenBlock]:
    said = replace(merged, merged_with=dict(work.config.spec), chunk=str(work.chunk), part=work.part)
    return lease.own_block(work.dataset, "replace", format="parquet", merged=said)


def _merge(spark: Any, lease: PartitionLease, work: GroupWork, merge: Merge, seen: _Seen) -> None:
    rows, column = merged_rows(spark, merge)
    with _overlay(lease, work, Merged(covers=merge.origins, column=column)) as block:
        if rows is not None:
            _write(spark, rows, column, merge, block.path, work)
    new = lease.manifests[-1]
    check_walk(lease.partition.key, new, seen.present, seen.overlays, seen.heads)
    partitions, size = len({origin.key for origin in merge.origins}), new.size
    told = "Merged %d blocks of %d partitions: %d → %d files, %d → %d bytes"
    log.info(told, len(merge.origins), partitions, merge.files, len(new.files), merge.bytes, size)


def _write(spark: Any, rows: Any, column: str, merge: Merge, directory: str, work: GroupWork) -> None:
    """Write the files, and read them back. What is written is what was compared: the rows are read once."""
    rows = rows.persist()
    try:
        found = sums(rows, column)
        check_counted(found, merge, directory)
        write(rows, directory, column, merge.bytes, work.config)
        check_same(found, sums(written(spark, directory), column), merge, directory)
    finally:
        rows.unpersist()


@partition_application
def copy(spark: Any, lease: PartitionLease) -> Complete | GiveUp:
    """Copy a chunk into a location byte for byte, or find that nothing of it shows, or that it cannot be done now.

    :param spark: is not used: files are copied by this process.
    :param lease: of a partition of ``~copies/<source>``.
    :raises OutputError: when a file is missing, or is not the same where it was written. Nothing is changed then.
    :raises InvalidInputError: when the partition's payload is not that of a copy.
    """
    work = CopyWork.from_payload(lease.partition.payload)
    with lease.attentive(ATTENTIVE):
        return _copied(lease, work)


def _copied(lease: PartitionLease, work: CopyWork) -> Complete | GiveUp:
    store = lease.coordinator.store
    prefix, name, _ = split_source(lease.partition.source)
    site = next((each for each in sites_of(locations_document(store, prefix)) if each.name == work.location), None)
    if site is None:
        return GiveUp(f"Location {work.location!r} is left out of the locations", LOCKED_FOR)
    if why := missing([site], store.store_id, prefix).get(site.name):
        return GiveUp(f"Location {work.location!r} cannot be read: {why}", LOCKED_FOR)
    identifier = source_identifier(store, name.removeprefix(COPIES), prefix)
    wanted = wanted_of(store, identifier, work.dataset, work.chunk)
    if wanted.locked:
        return GiveUp(f"Chunk {work.chunk} is locked by a branch, until that one shows", LOCKED_FOR)
    lease.publish_below(site.root)
    directories = (lease.scratch(work.dataset) for _ in wanted.manifests)
    copied = made(wanted, directories, lease.alive)
    if copied.pieces:
        with lease.own_block(work.dataset, "replace", format="parquet", copied=copied):
            told = "Copied %d files, %d bytes, of %s into location %s"
            log.info(told, copied.files, copied.bytes, work.chunk, site.name)
        _check_lies_there(lease, site, prefix)
    said = str(work.chunk) if work.chunk.is_bounded else None
    return Complete(interval=said)


def _check_lies_there(lease: PartitionLease, site: Site, prefix: str | None) -> None:
    """Look once more at what was made: a disk may have gone meanwhile, and files been written where it was mounted.

    :raises OutputError: when the location cannot be read any more, or a file is missing in it.
    """
    if why := missing([site], lease.coordinator.store.store_id, prefix).get(site.name):
        raise OutputError("copy into a location", site.root, f"was lost meanwhile: {why}", AGAIN)
    check_published(pieces_of(lease.manifests[-1]))


@partition_application
def upkeep(spark: Any, lease: PartitionLease) -> PartitionOutcome:
    """Do what a partition of upkeep wants done, whichever kind it is of."""
    _, name, _ = split_source(lease.partition.source)
    return copy(spark, lease) if name.startswith(COPIES) else compact(spark, lease)


if __name__ == "__main__":
    upkeep()
