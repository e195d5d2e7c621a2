"""Asking another worker for its lease, handing one over, and stealing what was not handed over in time.

Who asks leaves a mark beside the tenure, which is no write of its owner's; the owner learns of it with its next renewal
and hands over when its work is saved. Source: KCL 3.x, graceful lease hand-over
(``gracefulLeaseHandoffTimeoutMillis``); KCL 2.x steals without asking. No mark decides what counts: the fence does.
"""

from __future__ import annotations

from datetime import timedelta

from airflow_coordination.leases.ending_requests import GiveUpRequest
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.participant import Participant
from airflow_coordination.protocol.metrics import Metric
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import Ask
from airflow_coordination.values.times import positive


class Wanting(Participant):
    """The part of :class:`SourceCoordinator` by which workers get leases of each other."""

    def ask(self, seen: Partition, patience: timedelta) -> bool:
        """Ask whoever holds a partition to hand it over.

        :param seen: the partition, as it was just read.
        :param patience: after it this worker may :meth:`steal` the lease, and others may ask for it.
        :return: whether it stands under this worker's name; ``False`` when the tenure is over, or another one has
            asked for it and may still get it.
        :raises InvalidInputError: for a time that is not above zero.
        """
        positive("patience", patience)
        if seen.fence is None:
            return False
        write = Ask(source=self._source_id, key=seen.key, fence=seen.fence, by=self.owner.text, patience=patience)
        answer = self._settler.repeat(f"ask for {seen.key!r}", lambda: self.store.write(write))
        if answer.applied:
            return True
        now = answer.partition  # a repetition of what was applied is refused by its own mark
        return now is not None and now.held_under(write.fence) and now.wanted == self.owner.text

    def steal(self, seen: Partition) -> Lease | None:
        """Take a lease that this worker has asked for, and that was not handed over in time.

        Progress and what was saved with it go on; what its owner has done since its last save is done again. It counts
        as no lost lease.

        :param seen: the partition, as it was when it was asked for.
        :return: the lease; ``None`` when the tenure is over, or this worker's time has not come.
        """
        lease = self._acquisition.steal(seen, seen.fence) if seen.fence is not None else None
        if lease is None:
            return None
        self._count(Metric.STOLEN)
        self._count(Metric.ACQUIRED)
        return lease

    def hand_over(self, lease: Lease) -> None:
        """Give a lease back because another worker has asked for it: free at once, and counts nothing.

        What was saved goes on; blocks that were not are dropped, as with :meth:`give_up`.

        :raises PartitionNotOwnedError: when it is over already.
        """
        with self._watched(None):
            self._tenures.end(lease, GiveUpRequest(wanted=True))
        self._count(Metric.HANDED_OVER)
