"""Streams that nobody asks for any more: their partitions go after some time.

Source: KCL, ``FormerStreamsLeasesDeletionStrategy``.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from airflow_coordination.leases.supply import SourceView, partitions_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.sources.kinesis.memory import Memory
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionUpdateError
from airflow_coordination.values.status import PartitionStatus

log = logging.getLogger(__name__)
_BY: Final = "KinesisShards"


def remove(memory: Memory, asked: Collection[str], view: SourceView, now: datetime, deferred: timedelta) -> None:
    """Delete the partitions of streams that have not been asked for long enough, and forget those without any.

    :param memory: of all streams; it learns which are not asked for any more.
    :param asked: the beginnings of the keys of those that are.
    :param deferred: how long is long enough.
    """
    for prefix, known in list(memory.streams.items()):
        if prefix in asked:
            continue
        since = known.removed or now
        memory.streams[prefix] = replace(known, removed=since)
        if now - since >= deferred and _delete_all(prefix, view):
            del memory.streams[prefix]


def _delete_all(prefix: str, view: SourceView) -> bool:
    """Delete what nobody holds, children first, since nobody may be left waiting; return whether nothing is left."""
    left = list(partitions_of(view, prefix))
    deleted = 0
    while left:
        refused = [one for one in left if not _deleted(one, view)]
        if len(refused) == len(left):
            break
        deleted, left = deleted + len(left) - len(refused), refused
    log.info("Stream %s is not read any more: %d partitions deleted, %d left", prefix, deleted, len(left))
    return not left


def _deleted(seen: Partition, view: SourceView) -> bool:
    if seen.status is PartitionStatus.ASSIGNED:
        return False
    try:
        view.delete(seen.key, by=_BY, why="its stream is not read any more", seen=seen)
    except PartitionNotFoundError:
        return True
    except PartitionUpdateError:  # it has changed, or others wait for it
        return False
    return True
