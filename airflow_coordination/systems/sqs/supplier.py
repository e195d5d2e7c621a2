"""The supplier that makes partitions of S3's notifications (Data Prepper: ``notification_type: sqs``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from airflow_coordination.leases.supply import Supplied
from airflow_coordination.protocol.partition import Checkpoint
from airflow_coordination.systems.objects.s3_listing import SCHEMES
from airflow_coordination.systems.objects.selection import Selection, texts
from airflow_coordination.systems.rights import FollowUpRights
from airflow_coordination.systems.sqs.acknowledged import AcknowledgedNotifications
from airflow_coordination.systems.sqs.events import Wanted, batches
from airflow_coordination.systems.sqs.queue import MessageQueue, check_queue
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.times import needed, positive, whole_above_zero

_VISIBILITY: Final = timedelta(minutes=2)
_AGAIN_AFTER: Final = timedelta(hours=2)
"""As long as an acknowledgment may take (Data Prepper: ``visibility_duplication_protection_timeout``)."""
Texts = str | list[str] | tuple[str, ...]
_LONGEST: Final = timedelta(hours=12)
"""SQS: a message is hidden for so long at most, from the moment when it was received."""


@dataclass(frozen=True, slots=True)
class SqsNotifications:
    """What :func:`sqs_notifications` makes of ``delete="created"``. The queue is its memory: the global state stays."""

    queue_url: str
    max_messages: int
    visibility: timedelta
    region: str | None = None
    wanted: Wanted = field(default_factory=Wanted)

    @property
    def follow_up_rights(self) -> FollowUpRights:
        """What may be deleted for notes that are found: messages of the queue."""
        return FollowUpRights(queues=self.queue_url)

    def __call__(self, state: Mapping[str, Any]) -> Iterator[Supplied]:
        """Yield the objects of the messages that are there, and delete a batch when its partitions are created.

        :raises SourceError: when the queue does not answer.
        """
        queue = MessageQueue.opened(self.queue_url, self.visibility, self.region)
        for found in batches(queue, self.max_messages, self.wanted):
            yield from (each for one in found for each in one.partitions)
            yield Checkpoint(dict(state))  # when this goes on, what was yielded before it is in the store
            queue.delete([one.receipt for one in found if one.understood])


def sqs_notifications(
    queue_url: str,
    *,
    max_messages: int = 10_000,
    visibility: timedelta = _VISIBILITY,
    region: str | None = None,
    include_prefix: Texts = (),
    exclude_suffix: Texts = (),
    start_time: datetime | None = None,
    end_time: datetime | None = None,
    include_hidden: bool = False,
    buckets: Texts = (),
    scheme: str = "s3a",
    delete: Literal["created", "acknowledged"] = "created",
    again_after: timedelta | None = None,
) -> SqsNotifications | AcknowledgedNotifications:
    """Return a supplier that makes a partition of every object that S3 says was created.

    Its key is ``bucket|name|version``, its payload ``path``, ``size`` and ``etag``, as of
    :func:`~airflow_coordination.sources.object_listing`. An object that is written again is a new partition; a message
    that comes twice is not. Messages of S3 itself, of MinIO and Ceph, by way of SNS, and of EventBridge are understood;
    those of removed objects are only deleted. The rules are those of listings: folder markers, what Spark hides and
    what the options leave out is no work. What is not understood stays in the queue, for its redrive policy, and the
    log names it.

    With ``delete="created"`` a message is deleted when the partitions of its batch are in the store: a supplier that
    dies before that leaves it to the next one. With ``delete="acknowledged"`` (Data Prepper: ``acknowledgments: true``)
    it is deleted when its partitions have completed: by ``then=DeleteMessages.of(lease.partition)`` in the job, or by
    the supplier when the message comes again.

    :param queue_url: the queue; one for this source only.
    :param max_messages: so many in one run; the next one goes on.
    :param visibility: how long a received message is hidden from others, until its partitions are created.
    :param region: by default the one that the URL names, or the environment's.
    :param include_prefix: beginnings of names; of others the message is deleted, and makes nothing.
    :param exclude_suffix: ends of names that are left out.
    :param start_time: only objects written then or later, as the message says.
    :param end_time: only objects written before.
    :param include_hidden: also files that Spark's readers leave out (``_x``, ``.x``, ``x._COPYING_``).
    :param buckets: the buckets that messages may be about; all by default. A message about another one stays, named.
    :param scheme: how the payload's path begins; ``s3a`` is what Spark opens.
    :param delete: ``"created"`` or ``"acknowledged"``.
    :param again_after: with ``"acknowledged"``, after how long a message comes again whose partitions have been
        created, to see whether they have completed; 2 hours by default. 12 hours at most together with ``visibility``.
    :raises InvalidInputError: for arguments that cannot be used.
    """
    check_queue(queue_url)
    if scheme not in SCHEMES:
        raise InvalidInputError("scheme", scheme, "is no scheme of S3", f"Give one of {', '.join(SCHEMES)}")
    named = texts("include_prefix", include_prefix), texts("exclude_suffix", exclude_suffix)
    selection = Selection(*named, start_time, end_time, include_hidden=include_hidden)
    wanted = Wanted(selection, frozenset(texts("buckets", buckets)) or None, scheme)
    whole_above_zero("max_messages", max_messages)
    needed("visibility", visibility)
    _check_deletion(delete, again_after, queue_url)
    if delete == "created":
        _check_hidden(visibility, "")
        return SqsNotifications(queue_url, max_messages, visibility, region, wanted)
    again = positive("again_after", again_after) or _AGAIN_AFTER
    _check_hidden(visibility + again, " and again_after")
    return AcknowledgedNotifications(queue_url, max_messages, visibility, again, region, wanted)


def _check_deletion(delete: object, again_after: timedelta | None, queue_url: str) -> None:
    if delete not in ("created", "acknowledged"):
        raise InvalidInputError("delete", delete, "is no time to delete messages", "Give 'created' or 'acknowledged'")
    if delete == "created" and again_after is not None:
        problem = "has no meaning where messages are deleted at once"
        raise InvalidInputError("again_after", again_after, problem, "Leave it out, or give delete='acknowledged'")
    if delete == "acknowledged" and queue_url.endswith(".fifo"):
        problem = "is a FIFO queue, in which later messages would wait for the partitions of earlier ones"
        raise InvalidInputError("queue_url", queue_url, problem, "Give a standard queue, or delete='created'")


def _check_hidden(hidden: timedelta, more: str) -> None:
    if hidden > _LONGEST:
        problem = "is longer than the 12 hours for which SQS hides a message"
        raise InvalidInputError(f"visibility{more}", hidden, problem, "Give less")
