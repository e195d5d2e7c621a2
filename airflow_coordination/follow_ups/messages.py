"""Deleting messages from a queue of SQS (Data Prepper: the SQS messages behind S3 notifications)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from airflow_coordination.follow_ups.errors import FollowUpError
from airflow_coordination.follow_ups.protocol import Carried
from airflow_coordination.leases.errors import InvalidInputError
from airflow_coordination.leases.partition import Partition

BATCH: Final = 10
"""SQS: so many messages in one request."""
_GONE: Final = frozenset({"ReceiptHandleIsInvalid", "InvalidParameterValue"})
"""A receipt that is too old: the message was given to somebody else, who deletes it."""


@dataclass(frozen=True, slots=True)
class DeleteMessages:
    """Deletes messages from a queue of SQS, with the credentials of the process that does it.

    A receipt that is no longer valid is left alone: SQS has given the message again, and making a partition of it again
    changes nothing.

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
        given: object = self.receipts
        listed = [given] if isinstance(given, str) else list(given) if isinstance(given, Sequence) else []
        if not listed or not all(isinstance(each, str) and each for each in listed):
            raise InvalidInputError("receipts", given, "names no messages", "Give one or more receipt handles")
        url: object = self.queue_url
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise InvalidInputError(
                "queue_url", url, "is no URL of a queue", "Give https://sqs.<region>.amazonaws.com/…"
            )
        object.__setattr__(self, "receipts", tuple(listed))

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

    def carry_out(self) -> Carried:
        """Delete the messages.

        :raises FollowUpError: when the queue does not answer, or refuses one for another reason.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        carried = Carried()
        try:
            client = sqs_client(self.queue_url, self.region)
            for start in range(0, len(self.receipts), BATCH):
                carried += self._delete(client, self.receipts[start : start + BATCH])
        except (BotoCoreError, ClientError) as error:
            raise self._error(str(error)) from error
        return carried

    def _delete(self, client: Any, receipts: Sequence[str]) -> Carried:
        entries = [{"Id": str(number), "ReceiptHandle": receipt} for number, receipt in enumerate(receipts)]
        answer = client.delete_message_batch(QueueUrl=self.queue_url, Entries=entries)
        refused = answer.get("Failed", [])
        for each in refused:
            if each["Code"] not in _GONE:
                raise self._error(f"{each['Code']}: {each.get('Message', '')}")
        left = tuple(f"a message of {self.queue_url} was given to somebody else again" for _ in refused)
        return Carried(len(entries) - len(left), left)

    def _error(self, problem: str) -> FollowUpError:
        remedy = "Give this process credentials with sqs:DeleteMessage, and a region; see whether the queue is there"
        return FollowUpError(f"delete messages of {self.queue_url}", problem.rstrip("."), remedy)


def sqs_client(queue_url: str, region: str | None) -> Any:
    """Return a client of the service that a queue's URL names.

    :param region: by default the one in the URL, or the environment's.
    """
    import boto3

    address = urlsplit(queue_url)
    after_sqs = address.netloc.partition("sqs.")[2].partition(".")[0]
    endpoint = f"{address.scheme}://{address.netloc}"
    return boto3.Session().client("sqs", region_name=region or after_sqs or None, endpoint_url=endpoint)
