"""A partition publishes nothing in a branch: taken from whoever would work on it, and completed without its work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.planning.view.showing import dataset_of
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.errors import BranchError, PartitionNotFoundError, PartitionUpdateError

MOST_TRIES: Final = 20
"""How often a partition is taken that workers take meanwhile."""


def publish_nothing(
    coordinator: SourceCoordinator, key: str, number: int, by: str, why: str, progress: Any = None
) -> None:
    """Let a partition have nothing in a branch of all that it has ever published to, and complete it there.

    Whoever works on it meanwhile loses the lease: what it would publish is not wanted. What it has published to is
    read after that: nothing is added to it any more.

    :param number: of the branch, which has begun.
    :param progress: kept with the partition until its next reset.
    :raises PartitionNotFoundError: when there is no such partition.
    :raises BranchError: when it is in another branch that has begun.
    :raises PartitionUpdateError: when it cannot be had, and why.
    """
    lease = _taken(coordinator, key, number, by, why)
    if progress is not None:
        lease = coordinator.save_progress_state(lease, progress)
    heads = every_head(coordinator.store, lease.chain.partition.source, key=key)
    coordinator.complete(lease, empty=sorted({dataset_of(head) for head in heads}))


def publish_nothing_as_seen(
    coordinator: SourceCoordinator, seen: Partition, number: int, datasets: Sequence[str], by: str, why: str
) -> bool:
    """Let a partition have nothing of some datasets in a branch, unless it has changed since these were chosen.

    :param seen: the partition as it was then.
    :param number: of the branch, which has begun.
    :param datasets: by their names.
    :return: whether it was done; ``False`` when it has changed, or was deleted.
    :raises PartitionUpdateError: when it cannot be had, and why.
    """
    now = coordinator.partition(seen.key)
    if now is None or now.last_op != seen.last_op:
        return False
    lease = _taken_once(coordinator, now, number, by, why)
    if lease is None:
        return False
    coordinator.complete(lease, empty=datasets)
    return True


def _taken(coordinator: SourceCoordinator, key: str, number: int, by: str, why: str) -> Lease:
    """Return the lease on a partition that was reset into a branch."""
    for _ in range(MOST_TRIES):
        seen = coordinator.partition(key)
        if seen is None:
            raise PartitionNotFoundError(key, coordinator.source)
        if (lease := _taken_once(coordinator, seen, number, by, why)) is not None:
            return lease
    problem = "others take it again and again. Pause what works on the source, or repeat the command."
    raise PartitionUpdateError("take", key, problem)


def _taken_once(coordinator: SourceCoordinator, seen: Partition, number: int, by: str, why: str) -> Lease | None:
    """Return the lease on a partition that was reset into a branch as it was seen; ``None`` when others were faster.

    :raises PartitionUpdateError: when it cannot be had, and why; when the reset is refused although nobody was faster.
    """
    _check_can_be_had(coordinator, seen)
    try:
        coordinator.people.reset(seen.key, by, why, seen, branch=number, out_of_branch=seen.branch == number)
    except BranchError:
        raise
    except PartitionUpdateError:
        if coordinator.partition(seen.key) == seen:
            raise
        return None
    if (lease := coordinator.acquire_partition(seen.key)) is not None:
        if lease.chain.partition.branch == number:
            return lease
        coordinator.give_up(lease)
    return None


def _check_can_be_had(coordinator: SourceCoordinator, seen: Partition) -> None:
    if seen.blocked:
        problem = f"it waits for {len(seen.waits_for)} parent(s). Let them complete, or finish them, or delete it."
        raise PartitionUpdateError("take", seen.key, problem)
    if coordinator.pausing.current_pause().paused:
        raise PartitionUpdateError("take", seen.key, "the source is paused. Resume it first.")
