"""Taking groups of compaction away from their workers where a branch begins, so that these do not work for nothing.

Nothing depends on it: what such a group publishes would stand for blocks that are there (promise S21). But what a
branch replaces is merged anew when it shows, and until then its chunks are locked.
"""

from __future__ import annotations

import logging

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.planning.compaction.groups import GroupWork
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError
from airflow_coordination.values.names import compose_merged
from airflow_coordination.values.status import PartitionStatus

log = logging.getLogger(__name__)


def release_groups(coordinator: SourceCoordinator, interval: Interval | None, branch: int, by: str) -> list[str]:
    """Release the groups that are held and merge something of an interval; their drivers stop within 5 seconds.

    What fails here is only said in the log.

    :param coordinator: of the source whose partitions run in the branch.
    :param interval: of what the branch replaces; nothing is released where that is unknown.
    :param branch: its number, which the audit names.
    :param by: who has begun it.
    :return: the groups' keys.
    """
    if interval is None or compose_merged(coordinator.source, coordinator.partition_prefix) is None:
        return []
    groups = SourceCoordinator(
        coordinator.store,
        merged_source(coordinator.source),
        coordinator.owner.text,
        coordinator.partition_prefix,
        settings=coordinator.settings,
        metrics=coordinator.metrics,
    )
    try:
        held = [each for each in groups.partitions(PartitionStatus.ASSIGNED) if _merges(each, interval)]
        return [group.key for group in held if _released(groups, group, branch, by)]
    except CoordinationError as error:
        log.warning("Groups of compaction are left to work beside branch %d: %s", branch, error)
        return []


def _merges(group: Partition, interval: Interval) -> bool:
    try:
        return GroupWork.from_payload(group.payload).chunk.overlaps(interval)
    except InvalidInputError:
        return False


def _released(groups: SourceCoordinator, group: Partition, branch: int, by: str) -> bool:
    try:
        groups.people.release(group.key, by, f"revoked by branch {branch}", group)
    except PartitionUpdateError as error:  # it has ended meanwhile
        log.info("%s", error)
        return False
    return True
