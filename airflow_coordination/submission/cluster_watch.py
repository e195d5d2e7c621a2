"""The watch over a driver elsewhere, of which its task learns from the store only."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.submission.tenure_book import has_begun, is_of_task
from airflow_coordination.submission.watch import DRIVER_GOES_ON, Watch
from airflow_coordination.values.errors import PartitionNotOwnedError
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.status import Outcome

log = logging.getLogger(__name__)

FIRST_LOOKS: Final = 5.0
"""Seconds between two looks, at most, until the driver has begun: until then the task renews beside it."""
EXIT_ORPHANED: Final = 1


class ClusterWatch(Watch):
    """A thread beside one submission whose driver runs elsewhere. Use as a context manager around it.

    The task renews until the store shows that the driver began, or to the end for a job that knows nothing of
    leases. Neither the task's end nor a silent store ends the driver; only the loss of its lease does.

    :param coordinator: in the name of the task.
    :param lease: the tenure that the task started or adopted.
    :param end_driver: has the cluster end the driver.
    :param several: whether the driver may go on with further partitions.
    :param further: other tenures that the driver is to go on with at the same time.
    :param places: how many tenures it may have at a time.
    """

    def __init__(
        self,
        coordinator: SourceCoordinator,
        lease: Lease,
        end_driver: Callable[[], object],
        *,
        several: bool,
        further: Sequence[Lease] = (),
        places: int = 1,
    ) -> None:
        super().__init__(coordinator, lease, end_driver, further=further, places=places)
        self._several = several
        self._seen: dict[str, Fence] = {}
        self.began = has_begun(lease.partition)

    def __enter__(self) -> ClusterWatch:
        if self.began:  # adopted from an earlier try: its driver renews
            self._thread.start()
        else:
            super().__enter__()
        return self

    def look(self) -> None:
        """Learn from the store which tenures the driver has; end the driver if somebody else ended the newest.

        A second driver process of the same submission, such as YARN's second attempt, has retaken from the first.
        """
        if self._places > 1:
            self._follow_all()
            return
        key, fence = self.tenures.current
        partition = self._coordinator.partition(key)
        if partition is not None and is_of_task(partition, self._coordinator.owner):
            self._note(partition)
        elif self._several and (held := self._coordinator.tries.held_by_task()):
            for each in held:
                self._note(each)
        elif partition is not None:
            self._end_if_taken(partition, fence)

    def _pause(self) -> float | None:
        interval = self._coordinator.settings.renewal_interval.total_seconds()
        return interval if self.began else min(interval, FIRST_LOOKS)

    def _orphaned(self) -> None:
        """Leave at once: the driver goes on without this task, and the next try adopts its tenure."""
        os._exit(EXIT_ORPHANED)

    def _look(self) -> None:
        try:
            self.look()
        except Exception as error:  # none of them says that the lease is over
            log.warning("The lease of partition %a could not be looked at: %s", self.tenures.current[0], error)

    def _follow_all(self) -> None:
        """Learn which tenures the driver has at a time, and how the others ended; end it when it has lost them all."""
        held = {each.key: each for each in self._coordinator.tries.held_by_task()}
        for key, fence in self.tenures.open.items():
            if key not in held or held[key].fence != fence:
                self._close(key, fence)
        for key, each in held.items():
            fence = Fence(each.token, each.nonce)
            if self.tenures.open.get(key) != fence:
                self.tenures.began(key, fence)
            self._note_begun(each, fence)
        if not held:
            self._look_at_all()

    def _note(self, partition: Partition) -> None:
        fence = Fence(partition.token, partition.nonce)
        known = self.tenures.current
        if (partition.key, fence) != known:
            self._close(*known)
            self.tenures.began(partition.key, fence)
        self._note_begun(partition, fence)

    def _note_begun(self, partition: Partition, fence: Fence) -> None:
        self.tenures.runs_in(partition.key, fence, partition.branch)
        if has_begun(partition) and fence != self._seen.get(partition.key):
            self._seen[partition.key] = fence
            log.info("The store shows that the driver works on partition %a under fence %s", partition.key, fence)
            self.driver_holds(partition.key, fence)

    def _close(self, key: str, fence: Fence) -> None:
        """Note how a tenure ended that the driver has left behind."""
        partition = self._coordinator.partition(key)
        ending = partition.ending_of(fence) if partition is not None else None
        if ending is not None and ending.outcome in DRIVER_GOES_ON:
            self.tenures.ended(key, ending.outcome)

    def _end_if_taken(self, partition: Partition, fence: Fence) -> None:
        """End the driver if a tenure that nobody of this task holds any more was not ended by its owner."""
        ending = partition.ending_of(fence)
        if ending is not None and ending.outcome is Outcome.RETAKEN:
            following = [each.fence for each in partition.endings if each.fence.token == fence.token + 1]
            if following:  # by a second driver, which has ended it meanwhile
                self.tenures.began(partition.key, *following)
                self._end_if_taken(partition, *following)
                return
        if ending is None or ending.outcome not in DRIVER_GOES_ON:
            self._lose(PartitionNotOwnedError(partition.key, fence, partition.fence, ending, partition.owner))
