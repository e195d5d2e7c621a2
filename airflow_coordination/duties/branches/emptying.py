"""A partition publishes nothing in a branch: taken from whoever would work on it, and completed without its work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.errors import BranchError, PartitionNotFoundError, PartitionUpdateError

MOST_TRIES: Final = 20
"""How often a partition is taken that workers take meanwhile."""


def publish_nothing(
    coordinator: SourceCoordinator,
    key: str,
    number: int,
    datasets: Sequence[str],
    by: str,
    why: str,
    progress: Any = None,
) -> None:
    """Let a partition have nothing of some datasets in a branch, and complete it there.

    Whoever works on it meanwhile loses the lease: what it would publish is not wanted.

    :param number: of the branch, which has begun.
    :param datasets: by their names.
    :param progress: kept with the partition until its next reset.
    :raises PartitionNotFoundError: when there is no such partition.
    :raises BranchError: when it is in another branch that has begun.
    :raises PartitionUpdateError: when it cannot be had, and why.
    """
    lease = _taken(coordinator, key, number, by, why)
    if progress is not None:
        lease = coordinator.save_progress_state(lease, progress)
    coordinator.complete(lease, empty=datasets)


def _taken(coordinator: SourceCoordinator, key: str, number: int, by: str, why: str) -> Lease:
    """Return the lease on a partition that was reset into a branch."""
    for _ in range(MOST_TRIES):
        seen = coordinator.partition(key)
        if seen is None:
            raise PartitionNotFoundError(key, coordinator.source)
        _check_can_be_had(coordinator, seen)
        try:
            coordinator.people.reset(key, by, why, seen, branch=number)
        except BranchError:
            raise
        except PartitionUpdateError:  # it has moved on meanwhile
            continue
        if (lease := coordinator.acquire_partition(key)) is not None:
            if lease.chain.partition.branch == number:
                return lease
            coordinator.give_up(lease)
    problem = "others take it again and again. Pause what works on the source, or repeat the command."
    raise PartitionUpdateError("take", key, problem)


def _check_can_be_had(coordinator: SourceCoordinator, seen: Partition) -> None:
    if seen.blocked:
        problem = f"it waits for {len(seen.waits_for)} parent(s). Let them complete, or finish them, or delete it."
        raise PartitionUpdateError("take", seen.key, problem)
    if coordinator.pausing.current_pause().paused:
        raise PartitionUpdateError("take", seen.key, "the source is paused. Resume it first.")
