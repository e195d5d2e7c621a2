"""Deleting messages from a queue of SQS (Data Prepper: the SQS messages behind S3 notifications)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from airflow_coordination.protocol.follow_up import Carried, FollowUpError, Place, texts_in
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.systems.sqs.queue import check_queue, refused_deletions, sqs_client
from airflow_coordination.values.input_errors import InvalidInputError

GONE: Final = frozenset({"ReceiptHandleIsInvalid", "InvalidParameterValue"})
"""A receipt that is too old: the message was given to somebody else, who deletes it."""


def message_of(partition: Partition) -> tuple[str, str, str | None] | None:
    """Return queue, receipt and region of the message that a partition was made of, if its payload names one."""
    message = (partition.payload or {}).get("message")
    if not isinstance(message, Mapping) or not {"queue", "receipt"} <= set(message):
        return None
    return message["queue"], message["receipt"], message.get("region")


@dataclass(frozen=True, slots=True)
class DeleteMessages:
    """Deletes messages from a queue of SQS, with the credentials of the process that does it.

    A receipt that is no longer valid is left alone: SQS has given the message again, and making a partition of it again
    changes nothing. Of an old receipt of a standard queue SQS does not tell whether it has deleted anything:
    :func:`~airflow_coordination.sources.sqs_notifications` deletes the message when it comes again.

    :param queue_url: the queue.
    :param receipts: the receipt handles, or one.
    :param region: the queue's region; by default the one that the URL names, or the environment's.
    :raises InvalidInputError: when there is no URL or no receipt.
    """

    queue_url: str
    receipts: Sequence[str] | str
    region: str | None = None
    kind: ClassVar[str] = "delete messages"

    def __post_init__(self) -> None:
        listed = texts_in(self.receipts)
        if not listed:
            raise InvalidInputError("receipts", self.receipts, "names no messages", "Give one or more receipt handles")
        check_queue(self.queue_url)
        object.__setattr__(self, "receipts", listed)

    @classmethod
    def of(cls, partition: Partition) -> DeleteMessages | None:
        """Return the deletion of the message that a partition was made of, for ``then=``.

        :param partition: of ``sqs_notifications(…, delete="acknowledged")``.
        :return: ``None``, which ``then=`` leaves out, where the payload names no message: others have deleted it when
            the partition was created, or it is about other objects, too, and the supplier deletes it.
        """
        message = message_of(partition)
        return None if message is None else cls(*message)

    def pinned(self, partition: Partition) -> DeleteMessages:
        """Return itself: a receipt is of one message."""
        return self

    def to_json(self) -> dict[str, Any]:
        """Return queue and receipts."""
        return {"queue": self.queue_url, "receipts": list(self.receipts), "region": self.region}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> DeleteMessages:
        """Return the deletion that was noted."""
        return cls(found["queue"], found["receipts"], found["region"])

    def places(self) -> tuple[Place, ...]:
        """Return the queue."""
        return (Place("queues", self.queue_url),)

    def carry_out(self) -> Carried:
        """Delete the messages.

        :raises FollowUpError: when the queue does not answer, or refuses one for another reason.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        left: list[str] = []
        try:
            client = sqs_client(self.queue_url, self.region)
            for each in refused_deletions(client, self.queue_url, self.receipts):
                if each["Code"] not in GONE:
                    raise self._error(f"{each['Code']}: {each.get('Message', '')}")
                left.append(f"a message of {self.queue_url} was given to somebody else again")
        except (BotoCoreError, ClientError) as error:
            raise self._error(str(error)) from error
        return Carried(len(self.receipts) - len(left), tuple(left))

    def _error(self, problem: str) -> FollowUpError:
        remedy = "Give this process credentials with sqs:DeleteMessage, and a region; see whether the queue is there"
        return FollowUpError(f"delete messages of {self.queue_url}", problem.rstrip("."), remedy)
