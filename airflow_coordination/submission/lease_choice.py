"""The choice of a task instance's partition: its own of an earlier try, else the hinted, else the first in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from airflow_coordination.hooks.task_errors import PartitionFailedError
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.explaining.wording import holder
from airflow_coordination.leases.lease import Lease
from airflow_coordination.monitoring.waiting.patience import patiently
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.remedies import Shell, shell_of, typed
from airflow_coordination.spark.balance import Balance
from airflow_coordination.submission.task_instance import TaskMemory
from airflow_coordination.submission.tenure_book import is_of_task
from airflow_coordination.values.errors import PartitionNotFoundError
from airflow_coordination.values.fence import Ending, Fence
from airflow_coordination.values.input_errors import shown
from airflow_coordination.values.settings import Balancing
from airflow_coordination.values.status import Outcome, PartitionStatus

_DONE: Final = frozenset({Outcome.COMPLETED, Outcome.CLOSED})


@dataclass(frozen=True, slots=True)
class Done:
    """The partition of this task instance needs nothing more.

    :param key: the partition.
    :param message: why, for people.
    """

    key: str
    message: str


class LeaseChoice:
    """Chooses the lease of one try.

    :param coordinator: in the name of this try.
    :param memory: what earlier tries left.
    :param hint: from the sensor, or a key, or ``None``.
    :param on_clear: ``explain`` or ``reset``: what clearing a finished instance does.
    :param places: how many leases the task may work under at a time.
    :param balance: how it shares the source with other workers: then the hint is left alone, and where nothing is free
        others are asked for a lease.
    """

    def __init__(
        self,
        coordinator: SourceCoordinator,
        memory: TaskMemory,
        hint: str | None,
        on_clear: str,
        places: int = 1,
        balance: Balancing | None = None,
    ) -> None:
        self._coordinator, self._memory, self._hint, self._on_clear = coordinator, memory, hint, on_clear
        self._places, self._balance = places, balance
        self.further: list[Lease] = []
        """What else the try before held, up to the number of places."""

    def choose(self, try_number: int) -> Lease | Done | None:
        """Return the lease to work under, ``Done``, or ``None`` when there is nothing to acquire.

        A retry takes the same partition or learns that it is done, never other work. Of several that the try before
        held it takes all (:attr:`further`), whichever of them was remembered.

        :raises PartitionFailedError: when its own partition cannot be acquired yet, because it waits or has another
            owner now, or is parked.
        """
        recalled = self._memory.recall()
        if recalled is not None or try_number > 1:
            retaken = self._retaken()
            if retaken:
                first, *self.further = retaken
                return first
        if self._balance is not None:
            return self._patiently(Balance(self._coordinator, self._places, self._balance).first)
        if recalled is None:
            return self._patiently(partial(self._coordinator.get_next_partition, hint=self._hint))
        key, fence = str(recalled["key"]), Fence.parse(recalled["fence"])
        return self._cleared(key) if recalled["reported"] else self._again(key, fence)

    def _retaken(self) -> list[Lease]:
        """Take over what the try before holds; what there is no place for any more is free for others at once."""
        leases: list[Lease] = []
        for held in self._coordinator.tries.held_by_task():
            if len(leases) == self._places:
                self._coordinator.tries.give_up_for_dead_owner(held.key, Fence(held.token, held.nonce))
            elif (lease := self._coordinator.tries.retake(held.key)) is not None:
                leases.append(lease)
        return leases

    def _cleared(self, key: str) -> Lease | Done:
        if self._on_clear == "reset":
            branch = self._coordinator.branches.stays_in(self._check_free(key))
            by, why = self._coordinator.owner.text, "its Airflow task was cleared"
            self._coordinator.people.reset(key, by=by, why=why, branch=branch)
            return self._take(key)
        again = typed(self._coordinator, "reset", key)
        return Done(
            key,
            f"This task instance has finished its work on partition {shown(key)}; clearing it does not process the "
            f"partition again. To do that, run `{again}`, or set on_clear='reset'.",
        )

    def _check_free(self, key: str) -> Partition:
        """Return a partition, unless somebody else works on it by now.

        :raises PartitionFailedError: when its lease is another task's, and lasts.
        """
        seen, until = self._read(key), self._coordinator.store.now()
        if seen.ownership_timeout and seen.ownership_timeout > until and not is_of_task(seen, self._coordinator.owner):
            raise _unavailable(seen, shell_of(self._coordinator.store))
        return seen

    def _again(self, key: str, fence: Fence) -> Lease | Done:
        partition = self._read(key)
        ending = partition.ending_of(fence)
        if _passed(partition) or _still_done(partition, ending):
            return Done(key, f"Partition {shown(key)} is done: {ending or partition.status}. Nothing is left to do.")
        return self._take(key)

    def _take(self, key: str) -> Lease:
        lease = self._patiently(partial(self._coordinator.acquire_partition, key))
        if lease is None:
            raise _unavailable(self._read(key), shell_of(self._coordinator.store))
        return lease

    def _patiently(self, acquire: Callable[[], Lease | None]) -> Lease | None:
        return acquire() or patiently(self._coordinator, acquire)

    def _read(self, key: str) -> Partition:
        partition = self._coordinator.partition(key)
        if partition is None:
            raise PartitionNotFoundError(key, self._coordinator.source)
        return partition


def _still_done(partition: Partition, ending: Ending | None) -> bool:
    """Return whether the earlier try's own ending stands: nobody has acquired or reset the partition since."""
    return ending is not None and ending.outcome in _DONE and partition.fence == ending.fence and not partition.parked


def _passed(partition: Partition) -> bool:
    """Return whether somebody has finished this pass of the partition, whoever it was."""
    closed = partition.status is PartitionStatus.CLOSED and not partition.parked
    return closed or partition.status is PartitionStatus.COMPLETED


def _unavailable(partition: Partition, shell: Shell) -> PartitionFailedError:
    """Return why the partition cannot be acquired now; the next retry comes when that may be over."""
    if partition.status is PartitionStatus.ASSIGNED:
        reason = f"{holder(partition.owner)} works on it since this task's last try"
        return PartitionFailedError(partition.key, reason, partition.ownership_timeout, partition.source, shell)
    due = partition.available_at or partition.reopen_at
    reason = f"it cannot be acquired ({partition.last_error or partition.status})"
    return PartitionFailedError(partition.key, reason, due, partition.source, shell)
