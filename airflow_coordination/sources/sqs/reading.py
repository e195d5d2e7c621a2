"""From a queue's messages to partitions, batch by batch."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.sources.left_out import LeftOut
from airflow_coordination.sources.objects.selection import Selection
from airflow_coordination.sources.sqs.events import NewObject, read
from airflow_coordination.sources.sqs.queue import MessageQueue
from airflow_coordination.values.input_errors import InvalidInputError, printable

log = logging.getLogger(__name__)
_SHOWN = 200


class Notification(NamedTuple):
    """What one message says.

    :param receipt: of this reception.
    :param partitions: of the objects that it says were created; none where objects were removed, or are not asked for.
    :param understood: whether that is all of it; otherwise nobody deletes or hides it.
    """

    receipt: str
    partitions: tuple[PartitionIdentifier, ...]
    understood: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which objects become partitions: the rules of listings, for what is told one by one.

    :param selection: the user's choice.
    :param buckets: those that messages may be about; ``None`` for all.
    :param scheme: how the payload's path begins.
    """

    selection: Selection = field(default_factory=Selection)
    buckets: frozenset[str] | None = None
    scheme: str = "s3a"

    def partition(self, found: NewObject, left: LeftOut) -> PartitionIdentifier | None:
        """Return an object's partition, ``None`` where it is not asked for or no work.

        :raises InvalidInputError: when it is in another bucket, or no store can hold it: its message stays then.
        """
        if self.buckets is not None and found.bucket not in self.buckets:
            remedy = f"The queue is for {', '.join(sorted(self.buckets))}"
            raise InvalidInputError("bucket", found.bucket, "is not among buckets", remedy)
        identifier, object_ = found.identifier(self.scheme), found.stored()
        start = self.selection.start_time
        if not self._named(found.name) or not self.selection.in_time(object_, start, None):
            return None
        no_work = self.selection.why_no_work(object_)
        if no_work:
            left.no_work(found.name, no_work, usual=True)
            return None
        left.taken += 1
        return identifier

    def _named(self, name: str) -> bool:
        return name.startswith(self.selection.include_prefix or "") and self.selection.names(name)


def batches(queue: MessageQueue, most: int, wanted: Wanted) -> Iterator[list[Notification]]:
    """Yield what the messages say that are there, until there are none; then say what was left out.

    :param most: so many messages at least end it.
    :raises SourceError: when the queue does not answer.
    """
    received, left, objects = 0, LeftOut(queue.url, "messages"), LeftOut(queue.url, "objects")
    while received < most and (messages := list(queue.several())):
        received += len(messages)
        yield [_notification(queue, message, wanted, left, objects) for message in messages]
    left.say()
    objects.say()


def _notification(
    queue: MessageQueue, message: Mapping[str, Any], wanted: Wanted, left: LeftOut, objects: LeftOut
) -> Notification:
    """Return what a message says; one that is not understood in all its parts is left to the queue's redrive policy."""
    said = read(message["Body"])
    problems: list[Exception] = list(said.problems)
    partitions: list[PartitionIdentifier] = []
    for found in said.created:
        try:
            identifier = wanted.partition(found, objects)
        except InvalidInputError as error:
            problems.append(error)
        else:
            partitions += [identifier] if identifier else []
    if problems and left.no_work(message["Body"][:_SHOWN], "are not understood, or not all of them, and stay"):
        body, why = printable(message["Body"], limit=_SHOWN), printable(str(problems[0]), limit=_SHOWN)
        log.warning("Left in %s: %s (%s: %s)", queue.url, body, type(problems[0]).__name__, why)
    return Notification(message["ReceiptHandle"], tuple(partitions), not problems)
