"""A queue of SQS: messages that are received, deleted, and hidden for longer."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from airflow_coordination.systems.suppliers import wrapped
from airflow_coordination.values.input_errors import InvalidInputError

BATCH: Final = 10
"""SQS: so many messages in one request."""


def check_queue(queue_url: object) -> None:
    """Refuse what is no URL of a queue.

    :raises InvalidInputError: naming it.
    """
    if not isinstance(queue_url, str) or not queue_url.startswith(("http://", "https://")):
        remedy = "Give https://sqs.<region>.amazonaws.com/…"
        raise InvalidInputError("queue_url", queue_url, "is no URL of a queue", remedy)


def sqs_client(queue_url: str, region: str | None) -> Any:
    """Return a client of the service that a queue's URL names.

    :param region: by default the one in the URL, or the environment's.
    """
    import boto3

    address = urlsplit(queue_url)
    after_sqs = address.netloc.partition("sqs.")[2].partition(".")[0]
    endpoint = f"{address.scheme}://{address.netloc}"
    return boto3.Session().client("sqs", region_name=region or after_sqs or None, endpoint_url=endpoint)


def refused_deletions(client: Any, queue_url: str, receipts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Delete messages, batch by batch, and yield what SQS says of each that it does not delete.

    :param receipts: their receipt handles.
    """
    for entries in _batches(receipts):
        yield from client.delete_message_batch(QueueUrl=queue_url, Entries=entries).get("Failed", [])


def refused_changes(client: Any, queue_url: str, receipts: Sequence[str], seconds: int) -> Iterator[dict[str, Any]]:
    """Hide messages for so long from now on, batch by batch, and yield what SQS says of each that it does not hide.

    :param receipts: their receipt handles.
    """
    for entries in _batches(receipts, VisibilityTimeout=seconds):
        yield from client.change_message_visibility_batch(QueueUrl=queue_url, Entries=entries).get("Failed", [])


def _batches(receipts: Sequence[str], **more: Any) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(receipts), BATCH):
        batch = receipts[start : start + BATCH]
        yield [{"Id": str(number), "ReceiptHandle": receipt, **more} for number, receipt in enumerate(batch)]


log = logging.getLogger(__name__)
_ACTION: Final = "receive notifications"
_WAIT_SECONDS: Final = 1
_TOGETHER: Final = 10
"""Requests whose messages are stored with one save of the global state."""


@dataclass(frozen=True, slots=True)
class MessageQueue:
    """One queue.

    :param url: its URL.
    :param visibility: how long a received message is hidden.
    :param client: boto3's.
    """

    url: str
    visibility: timedelta
    client: Any

    @classmethod
    def opened(cls, url: str, visibility: timedelta, region: str | None) -> MessageQueue:
        """Return the queue with a client of the service that its URL names.

        :raises SourceError: when there can be none, for want of a region.
        """
        with wrapped(_ACTION, url):
            return cls(url, visibility, sqs_client(url, region))

    def several(self) -> Iterator[dict[str, Any]]:
        """Yield the messages of several requests, up to the first that finds none.

        :raises SourceError: when the queue does not answer.
        """
        for _ in range(_TOGETHER):
            found = self._receive()
            if not found:
                return
            yield from found

    def delete(self, receipts: Sequence[str]) -> None:
        """Delete messages; one that cannot be deleted comes again.

        :raises SourceError: when the queue does not answer.
        """
        with wrapped("delete notifications", self.url):
            for each in refused_deletions(self.client, self.url, receipts):
                log.warning("A message of %s comes again: %s", self.url, each.get("Message", each["Code"]))

    def hide(self, receipts: Sequence[str], duration: timedelta) -> None:
        """Hide received messages for so long from now on; one that cannot be hidden comes again earlier.

        :raises SourceError: when the queue does not answer.
        """
        with wrapped("hide notifications", self.url):
            for each in refused_changes(self.client, self.url, receipts, _seconds(duration)):
                log.warning("A message of %s comes again soon: %s", self.url, each.get("Message", each["Code"]))

    def _receive(self) -> list[dict[str, Any]]:
        with wrapped(_ACTION, self.url):
            answer = self.client.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=BATCH,
                WaitTimeSeconds=_WAIT_SECONDS,
                VisibilityTimeout=_seconds(self.visibility),
            )
        found: list[dict[str, Any]] = answer.get("Messages", [])
        return found


def _seconds(duration: timedelta) -> int:
    return math.ceil(duration.total_seconds())
