"""The tries of a task: the next one adopts or retakes what the try before has left, or ends it in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from airflow_coordination.leases.acquisition import Acquisition
from airflow_coordination.leases.counting import Counting
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.outcomes import EndRequest, FailRequest, GiveUpRequest
from airflow_coordination.leases.participant import Participant
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionNotOwnedError
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.names import check_key
from airflow_coordination.values.status import Outcome


class Tries:
    """What one try of a task does about another one's tenures: :class:`SourceCoordinator` ``.tries``.

    :param core: whose source.
    :param acquisition: of the source's partitions.
    :param counting: counts what is retaken.
    :param end: ends a tenure, and counts it.
    """

    def __init__(
        self,
        core: Participant,
        acquisition: Acquisition,
        counting: Counting,
        end: Callable[[Lease, EndRequest], object],
    ) -> None:
        self._core, self._acquisition, self._counting, self._end = core, acquisition, counting, end

    def retake(self, key: str) -> Lease | None:
        """Take a partition over, at once, from an earlier try of this task; ``None`` if none holds it."""
        lease = self._acquisition.retake(check_key(key))
        return self._counting.count_acquired(lease) if lease else None

    def adopt(self, key: str, fence: Fence) -> Lease | None:
        """Put a running tenure of an earlier try of this task under this try's watch, and renew it.

        Its driver may go on with the chain of writes; this lease is for renewing, and for ending it once the driver
        is dead.

        :return: the lease, ``None`` if the tenure is over.
        """
        return self._acquisition.adopt(check_key(key), fence)

    def held_by_task(self) -> Sequence[Partition]:
        """Return what any try of this owner's Airflow task holds, not of its namesake in another Airflow."""
        action, task = "look for own leases", self._core.owner.task
        found = self._core.settler.repeat(action, lambda: self._core.store.find_task(self._core.source_id, task))
        return [each for each in found if self._core.owner.is_also(each.owner)]

    def fail_for_dead_owner(self, key: str, fence: Fence, error: str) -> bool:
        """End a tenure as failed in the place of its driver, which is known to be dead.

        :return: whether the tenure was still going on; false when it had ended by itself.
        :raises PartitionNotFoundError: when there is no such partition.
        """
        return self._end_for_dead_owner(key, fence, FailRequest(error))

    def give_up_for_dead_owner(self, key: str, fence: Fence) -> bool:
        """Give a tenure up in the place of its driver, which was ended on purpose; see :meth:`fail_for_dead_owner`."""
        return self._end_for_dead_owner(key, fence, GiveUpRequest())

    def _end_for_dead_owner(self, key: str, fence: Fence, request: EndRequest) -> bool:
        while True:
            seen = self._core.settler.read(self._core.source_id, key)
            if seen is None:
                raise PartitionNotFoundError(key, self._core.source)
            if not seen.held_under(fence):
                return False
            lease = self._core.tenures.start(seen, self._core.clock.monotonic())
            try:
                self._end(lease, request)
            except PartitionNotOwnedError as refused:
                if refused.ending is None or refused.ending.outcome is not Outcome.OVERTAKEN:
                    return False
            except PartitionNotFoundError:  # a person has deleted it under its owner
                return False
            else:
                return True
