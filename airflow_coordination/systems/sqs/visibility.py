"""Showing messages of a queue of SQS again (AWS: ``ChangeMessageVisibility``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Final

from airflow_coordination.protocol.follow_up import Carried, FollowUpError, Place, texts_in
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.systems.sqs.deletion import GONE, message_of
from airflow_coordination.systems.sqs.queue import check_queue, refused_changes, sqs_client
from airflow_coordination.values.input_errors import InvalidInputError

_LONGEST: Final = timedelta(hours=12)
"""SQS: a message is hidden for so long at most."""
_LEFT: Final = GONE | {"MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight"}
"""Somebody else has the message, or it is visible already."""


@dataclass(frozen=True, slots=True)
class ShowMessages:
    """Lets SQS give messages again, to whoever receives from the queue: at once, or after a while.

    Each time they are received counts for the queue's redrive policy, which moves them to its dead-letter queue after
    so many. Made for :meth:`~airflow_coordination.spark.PartitionLease.on_parked`. A message that is visible already,
    was given again, or is deleted, is left alone.

    :param queue_url: the queue.
    :param receipts: the receipt handles, or one.
    :param region: the queue's region; by default the one that the URL names, or the environment's.
    :param after: how long from then on; 12 hours at most.
    :raises InvalidInputError: when there is no URL, no receipt, or no such time.
    """

    queue_url: str
    receipts: Sequence[str] | str
    region: str | None = None
    after: timedelta = timedelta(0)
    kind: ClassVar[str] = "show messages"

    def __post_init__(self) -> None:
        listed = texts_in(self.receipts)
        if not listed:
            raise InvalidInputError("receipts", self.receipts, "names no messages", "Give one or more receipt handles")
        check_queue(self.queue_url)
        after: object = self.after
        if not isinstance(after, timedelta) or not timedelta(0) <= after <= _LONGEST:
            problem = "is no time for which SQS hides a message"
            raise InvalidInputError("after", after, problem, "Give a timedelta of 0 to 12 hours")
        object.__setattr__(self, "receipts", listed)

    @classmethod
    def of(cls, partition: Partition, after: timedelta = timedelta(0)) -> ShowMessages | None:
        """Return it for the message that a partition was made of.

        :param partition: of ``sqs_notifications(…, delete="acknowledged")``.
        :param after: see above.
        :return: ``None`` where the payload names no message; see ``DeleteMessages.of``.
        """
        message = message_of(partition)
        return None if message is None else cls(*message, after)

    def pinned(self, partition: Partition) -> ShowMessages:
        """Return itself: a receipt is of one message."""
        return self

    def to_json(self) -> dict[str, Any]:
        """Return queue, receipts and time."""
        seconds = int(self.after.total_seconds())
        return {"queue": self.queue_url, "receipts": list(self.receipts), "region": self.region, "seconds": seconds}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> ShowMessages:
        """Return what was noted."""
        return cls(found["queue"], found["receipts"], found["region"], timedelta(seconds=found["seconds"]))

    def places(self) -> tuple[Place, ...]:
        """Return the queue."""
        return (Place("queues", self.queue_url),)

    def carry_out(self) -> Carried:
        """Change how long the messages are hidden.

        :raises FollowUpError: when the queue does not answer, or refuses one for another reason.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        left: list[str] = []
        seconds = int(self.after.total_seconds())
        try:
            client = sqs_client(self.queue_url, self.region)
            for each in refused_changes(client, self.queue_url, self.receipts, seconds):
                if each["Code"] not in _LEFT:
                    raise self._error(f"{each['Code']}: {each.get('Message', '')}")
                left.append(f"a message of {self.queue_url} is visible, gone, or was given to somebody else again")
        except (BotoCoreError, ClientError) as error:
            raise self._error(str(error)) from error
        return Carried(len(self.receipts) - len(left), tuple(left))

    def _error(self, problem: str) -> FollowUpError:
        remedy = "Give this process credentials with sqs:ChangeMessageVisibility, and a region"
        return FollowUpError(f"show messages of {self.queue_url}", problem.rstrip("."), remedy)
