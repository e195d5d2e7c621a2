"""Messages that stay until their partitions have completed (Data Prepper: ``acknowledgments: true``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from airflow_coordination.leases.supply import SourceView, Supplied
from airflow_coordination.protocol.partition import Checkpoint, PartitionIdentifier
from airflow_coordination.systems.rights import FollowUpRights
from airflow_coordination.systems.sqs.events import Notification, Wanted, batches
from airflow_coordination.systems.sqs.queue import MessageQueue
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.status import PartitionStatus

Known = Mapping[str, PartitionStatus]
"""How those partitions stand that exist."""


@dataclass(frozen=True, slots=True)
class AcknowledgedNotifications:
    """What :func:`~airflow_coordination.sources.sqs_notifications` makes of ``delete="acknowledged"``.

    It looks how partitions stand, so it is given to ``supplier=`` as it is, and not called with the state.
    """

    queue_url: str
    max_messages: int
    visibility: timedelta
    again_after: timedelta
    region: str | None = None
    wanted: Wanted = field(default_factory=Wanted)

    @property
    def follow_up_rights(self) -> FollowUpRights:
        """What may be deleted for notes that are found: messages of the queue."""
        return FollowUpRights(queues=self.queue_url)

    def supply(self, state: Mapping[str, Any], view: SourceView) -> Iterator[Supplied]:
        """Yield what is new; delete the messages whose partitions have all completed, and hide the others.

        :param state: stays as it is: the queue is the memory.
        :param view: the source's partitions.
        :raises SourceError: when the queue does not answer.
        """
        queue = MessageQueue.opened(self.queue_url, self.visibility, self.region)
        for found in batches(queue, self.max_messages, self.wanted):
            known = _known(found, view)
            yield from self._new(found, known).values()
            yield Checkpoint(dict(state))  # when this goes on, what was yielded before it is in the store
            over = [one.receipt for one in found if _has_completed(one, known)]
            queue.delete(over)
            queue.hide([one.receipt for one in found if one.understood and one.receipt not in over], self.again_after)

    def _new(self, found: Sequence[Notification], known: Known) -> dict[str, PartitionIdentifier]:
        """Return what does not exist yet, once where two messages speak of it."""
        new: dict[str, PartitionIdentifier] = {}
        for one in found:
            for each in one.partitions:
                if each.key not in known:
                    new.setdefault(each.key, self._with_receipt(one, each))
        return new

    def _with_receipt(self, one: Notification, partition: PartitionIdentifier) -> PartitionIdentifier:
        """Return the partition with its message in the payload, if the message is about nothing else."""
        if len(one.partitions) > 1 or not one.understood:
            return partition
        message = {"queue": self.queue_url, "receipt": one.receipt, "region": self.region}
        try:
            return PartitionIdentifier(partition.key, {**(partition.payload or {}), "message": message})
        except InvalidInputError:  # a long path leaves no room: then this supplier alone deletes the message
            return partition


def _known(found: Sequence[Notification], view: SourceView) -> Known:
    keys = dict.fromkeys(each.key for one in found for each in one.partitions)
    return {each.key: each.status for each in map(view.partition, keys) if each is not None}


def _has_completed(one: Notification, known: Known) -> bool:
    """Whether all that a message speaks of has; one that speaks of nothing need not come again, either."""
    return one.understood and all(known.get(each.key) is PartitionStatus.COMPLETED for each in one.partitions)
