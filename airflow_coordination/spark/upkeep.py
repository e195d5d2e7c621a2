"""The compaction's worker: merges the rows of one group into an overlay, compares them, and publishes it.

It runs like every partition function, by ``LeasedSparkSubmitOperator(application=upkeep.__file__, …)`` or
``drain(upkeep.compact, source="~merged/<source>", …)``. An overlay is published by the ordinary ending of its group's
partition, so ingest and compaction never wait for one another, and of a driver that was believed dead nothing counts.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from airflow_coordination.leases.outcomes import Complete
from airflow_coordination.outputs.attempts import OpenBlock
from airflow_coordination.outputs.membership import members
from airflow_coordination.outputs.merging import Merge, check_walk, gathered, given_up
from airflow_coordination.outputs.origins import Merged
from airflow_coordination.outputs.overlays import Overlay, Overlays, source_of
from airflow_coordination.outputs.published import read_overlays
from airflow_coordination.planning.compaction.groups import GroupWork
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.spark.application import partition_application
from airflow_coordination.spark.lease import PartitionLease
from airflow_coordination.spark.merged_rows import check_counted, check_same, merged_rows, sums, write, written
from airflow_coordination.values.names import split_source

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was read under the group's lease: overlays first, then heads."""

    overlays: Overlays
    present: Overlay | None
    heads: Sequence[HeadRecord]


@partition_application
def compact(spark: Any, lease: PartitionLease) -> Complete:
    """Merge one group, or find that there is nothing to do.

    :param spark: the session, classic or Connect.
    :param lease: of a partition of ``~merged/<source>``.
    :raises OutputError: when something is missing; for *incompatible schemas* and *checksum differs*; when the new
        overlay would let go of what readers meet. Nothing is changed for readers then.
    :raises InvalidInputError: when the partition's payload is not that of a group.
    """
    work = GroupWork.from_payload(lease.partition.payload)
    seen = _read(lease, work)
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
    return _Seen(overlays, overlays.of(group), members(store, source, prefix, group, work, overlays))


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


if __name__ == "__main__":
    compact()
