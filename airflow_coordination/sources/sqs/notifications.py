"""The supplier that makes partitions of S3's notifications (Data Prepper: ``notification_type: sqs``)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from airflow_coordination.follow_ups.sqs import BATCH, check_queue, refused_deletions, sqs_client
from airflow_coordination.leases.durations import positive
from airflow_coordination.leases.errors import InvalidInputError
from airflow_coordination.leases.partition import Checkpoint
from airflow_coordination.leases.supply import Supplied
from airflow_coordination.sources.errors import wrapped
from airflow_coordination.sources.sqs.events import NotUnderstoodError, new_objects

log = logging.getLogger(__name__)
_ACTION: Final = "receive notifications"
_WAIT_SECONDS: Final = 1
_TOGETHER: Final = 10
"""So many requests' messages are stored with one save of the global state."""


@dataclass(frozen=True, slots=True)
class SqsNotifications:
    """The supplier that :func:`sqs_notifications` makes. The queue is its memory: the global state stays as it is."""

    queue_url: str
    max_messages: int
    visibility: timedelta
    region: str | None = None

    def __call__(self, state: Mapping[str, Any]) -> Iterator[Supplied]:
        """Yield the objects of the messages that are there, and delete a batch when its partitions are created.

        :raises SourceError: when the queue does not answer.
        """
        with wrapped(_ACTION, self.queue_url):
            client = sqs_client(self.queue_url, self.region)
        received = 0
        while received < self.max_messages and (messages := list(self._several(client))):
            received += len(messages)
            understood = []
            for message in messages:
                try:
                    yield from (each.identifier() for each in new_objects(message["Body"]))
                    understood.append(message)
                except (NotUnderstoodError, InvalidInputError) as error:
                    log.warning("Left in %s: %.200s (%s)", self.queue_url, message["Body"], error)
            yield Checkpoint(dict(state))  # when this goes on, what was yielded before it is in the store
            self._delete(client, [message["ReceiptHandle"] for message in understood])

    def _several(self, client: Any) -> Iterator[dict[str, Any]]:
        """Yield the messages of several requests, up to the first that finds none."""
        for _ in range(_TOGETHER):
            found = self._receive(client)
            if not found:
                return
            yield from found

    def _receive(self, client: Any) -> list[dict[str, Any]]:
        with wrapped(_ACTION, self.queue_url):
            answer = client.receive_message(
                QueueUrl=self.queue_url,
                MaxNumberOfMessages=BATCH,
                WaitTimeSeconds=_WAIT_SECONDS,
                VisibilityTimeout=int(self.visibility.total_seconds()),
            )
        found: list[dict[str, Any]] = answer.get("Messages", [])
        return found

    def _delete(self, client: Any, receipts: list[str]) -> None:
        """Delete what is stored; what cannot be deleted comes again, and is no new partition then."""
        with wrapped("delete notifications", self.queue_url):
            for each in refused_deletions(client, self.queue_url, receipts):
                log.warning("A message of %s comes again: %s", self.queue_url, each.get("Message", each["Code"]))


def sqs_notifications(
    queue_url: str,
    *,
    max_messages: int = 10_000,
    visibility: timedelta = timedelta(minutes=2),
    region: str | None = None,
) -> SqsNotifications:
    """Return a supplier that makes a partition of every object that S3 says was created.

    Its key is ``bucket|name|version``, its payload ``path``, ``size`` and ``etag``, as of
    :func:`~airflow_coordination.sources.object_listing`. An object that is written again is a new partition; a message
    that comes twice is not. Messages of S3 itself, by way of SNS, and of EventBridge are understood; those of removed
    objects are only deleted. What is not understood stays in the queue, for its redrive policy, and the log names it.

    A message is deleted when the partitions of its batch are in the store: a supplier that dies before that leaves it
    to the next one.

    :param queue_url: the queue; one for this source only.
    :param max_messages: so many in one run; the next one goes on.
    :param visibility: how long a received message is hidden from others, until its partitions are created.
    :param region: by default the one that the URL names, or the environment's.
    :raises InvalidInputError: for arguments that cannot be used.
    """
    check_queue(queue_url)
    if isinstance(max_messages, bool) or max_messages < 1:
        raise InvalidInputError("max_messages", max_messages, "is not a whole number above zero", "Give 1 or more")
    positive("visibility", visibility)
    return SqsNotifications(queue_url, max_messages, visibility, region)
