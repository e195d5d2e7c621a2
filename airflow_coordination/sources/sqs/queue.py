"""A queue of SQS as a supplier sees it: messages that are received, deleted, and hidden for longer."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from airflow_coordination.follow_ups.sqs import BATCH, refused_changes, refused_deletions, sqs_client
from airflow_coordination.sources.errors import wrapped

log = logging.getLogger(__name__)
_ACTION: Final = "receive notifications"
_WAIT_SECONDS: Final = 1
_TOGETHER: Final = 10
"""So many requests' messages are stored with one save of the global state."""


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
