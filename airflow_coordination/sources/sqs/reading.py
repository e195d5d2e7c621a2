"""From a queue's messages to partitions, batch by batch."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from airflow_coordination.leases.errors import InvalidInputError
from airflow_coordination.leases.partition import PartitionIdentifier
from airflow_coordination.sources.sqs.events import NotUnderstoodError, new_objects
from airflow_coordination.sources.sqs.queue import MessageQueue

log = logging.getLogger(__name__)


class Notification(NamedTuple):
    """What one message says.

    :param receipt: of this reception.
    :param partitions: of the objects that it says were created; none where objects were removed.
    """

    receipt: str
    partitions: tuple[PartitionIdentifier, ...]


def batches(queue: MessageQueue, most: int) -> Iterator[list[Notification]]:
    """Yield what the messages say that are there, until there are none.

    :param most: so many messages at least end it.
    :raises SourceError: when the queue does not answer.
    """
    received = 0
    while received < most and (messages := list(queue.several())):
        received += len(messages)
        yield list(_understood(queue, messages))


def _understood(queue: MessageQueue, messages: Sequence[Mapping[str, Any]]) -> Iterator[Notification]:
    """Yield what is understood; the rest is left to the queue's redrive policy."""
    for message in messages:
        try:
            partitions = tuple(each.identifier() for each in new_objects(message["Body"]))
        except (NotUnderstoodError, InvalidInputError) as error:
            log.warning("Left in %s: %.200s (%s)", queue.url, message["Body"], error)
        else:
            yield Notification(message["ReceiptHandle"], partitions)
