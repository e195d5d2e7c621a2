"""From a queue's messages, whoever has wrapped them, to the objects they speak of, batch by batch."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from urllib.parse import unquote_plus

from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.systems.left_out import LeftOut
from airflow_coordination.systems.objects.listing import StoredObject
from airflow_coordination.systems.objects.selection import Selection
from airflow_coordination.systems.sqs.queue import MessageQueue
from airflow_coordination.values.documents import parse
from airflow_coordination.values.input_errors import InvalidInputError, printable
from airflow_coordination.values.names import SEPARATOR, encode_part

_MAX_BYTES: Final = 1024 * 1024
"""SQS: a message has no more."""
_MAX_DEPTH: Final = 32
_CREATED: Final = ("ObjectCreated:", "ObjectRestore:Completed", "ObjectSynced:Create")
_OF_NO_NEW_OBJECT: Final = (
    "ObjectRemoved",
    "ObjectRestore:",
    "ObjectTagging:",
    "ObjectAcl:",
    "ObjectAccessed:",
    "ObjectSynced:",
    "ObjectTransition:",
    "ObjectLifecycle:",
    "LifecycleExpiration:",
    "LifecycleTransition",
    "IntelligentTiering",
    "ReducedRedundancyLostObject",
    "Replication:",
    "TestEvent",
)
"""Beginnings of names of S3, MinIO and Ceph. What is in neither list is not understood: nobody deletes it unread."""
_BRIDGED: Final = ("Object Created", "Object Restore Completed")
_BRIDGED_OF_NO_NEW_OBJECT: Final = (
    "Object Deleted",
    "Object Restore Initiated",
    "Object Restore Expired",
    "Object Tags Added",
    "Object Tags Deleted",
    "Object ACL Updated",
    "Object Storage Class Changed",
    "Object Access Tier Changed",
)
_PLAIN: Final = "ceph:s3"
"""It gives names as they are; S3 and MinIO encode them as in a form."""
_SOURCES: Final = ("aws:s3", "minio:s3", _PLAIN)
_ODD: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What an odd message may raise."""


class NotUnderstoodError(Exception):
    """A message that is no notification of S3."""


@dataclass(frozen=True, slots=True)
class NewObject:
    """One object that was created.

    :param version: tells one creation under its name from another: S3's sequencer, or the ETag.
    :param at: when, ``None`` where the message does not say.
    """

    bucket: str
    name: str
    size: int
    etag: str | None
    version: str
    at: datetime | None = field(default=None, compare=False)

    def identifier(self, scheme: str = "s3a") -> PartitionIdentifier:
        """Return its partition, ``bucket|name|version``: an object that is written again is another one.

        :param scheme: of the payload's path; ``s3a`` is the one that Spark opens.
        """
        key = SEPARATOR.join(map(encode_part, (self.bucket, self.name, self.version)))
        payload = {"path": f"{scheme}://{self.bucket}/{self.name}", "size": self.size, "etag": self.etag}
        return PartitionIdentifier(key, payload)

    def stored(self) -> StoredObject:
        """Return it as a listing would show it."""
        return StoredObject(self.name, self.size, self.at, self.etag)


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a message.

    :param created: the objects that were created: none for a test of S3, or where objects were removed.
    :param problems: why the message, or a record in it, is not understood; none where all of it is.
    """

    created: tuple[NewObject, ...]
    problems: tuple[Exception, ...] = ()


def read(body: str) -> Content:
    """Return what a message says, whatever is in it: an odd record does not hide the others."""
    try:
        records = list(_records(_unwrapped(_parsed(body))))
    except _ODD as error:
        return Content((), (error,))
    created, problems = [], []
    for record in records:
        try:
            created += _bridged(record) if "detail-type" in record else _of_a_storage(record)
        except _ODD as error:
            problems.append(error)
    return Content(tuple(created), tuple(problems))


def new_objects(body: str) -> list[NewObject]:
    """Return the objects that a message says were created.

    :raises NotUnderstoodError: when it says nothing of objects in S3, or something that no storage has said so far.
    """
    said = read(body)
    if said.problems:
        raise NotUnderstoodError(repr(said.problems[0])) from said.problems[0]
    return list(said.created)


def _parsed(text: str) -> Any:
    return parse(text, max_bytes=_MAX_BYTES, max_depth=_MAX_DEPTH)


def _unwrapped(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what SNS has put into a text."""
    if found.get("Type") == "Notification" and "TopicArn" in found:
        inner: Mapping[str, Any] = _parsed(_text(found["Message"]))
        return inner
    return found


def _records(found: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if found.get("Event") == "s3:TestEvent":
        return
    if found.get("source") == "aws.s3":
        yield {"detail-type": _text(found["detail-type"]), **found}
    elif isinstance(found["Records"], list):
        yield from found["Records"]
    else:
        raise TypeError(f"{type(found['Records']).__name__} in the place of a list")


def _bridged(told: Mapping[str, Any]) -> list[NewObject]:
    if not _is_creation(_text(told["detail-type"]), _BRIDGED, _BRIDGED_OF_NO_NEW_OBJECT):
        return []
    detail = told["detail"]
    return [_object(detail["bucket"], detail["object"], _text(detail["object"]["key"]), told.get("time"))]


def _of_a_storage(record: Mapping[str, Any]) -> list[NewObject]:
    source = record["eventSource"]
    if source not in _SOURCES:
        raise ValueError(f"unknown source {source!r}")
    if not _is_creation(_text(record["eventName"]).removeprefix("s3:"), _CREATED, _OF_NO_NEW_OBJECT):
        return []
    told = record["s3"]["object"]
    name = _text(told["key"])
    plain = name if source == _PLAIN else unquote_plus(name, errors="strict")
    return [_object(record["s3"]["bucket"], told, plain, record.get("eventTime"))]


def _is_creation(event: str, created: tuple[str, ...], others: tuple[str, ...]) -> bool:
    if not event.startswith((*created, *others)):
        raise ValueError(f"unknown event {event!r}")
    return event.startswith(created)


def _object(bucket: Mapping[str, Any], told: Mapping[str, Any], name: str, at: object) -> NewObject:
    etag = told.get("eTag") or told.get("etag") or None
    version = told.get("sequencer") or etag
    if not version:
        raise ValueError("neither sequencer nor ETag")
    size = told.get("size") or 0
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < 2**63:
        raise ValueError(f"the size is no number of bytes: {type(size).__name__}")
    return NewObject(_text(bucket["name"]), _text(name), size, etag and _text(etag), _text(version), _moment(at))


def _moment(told: object) -> datetime | None:
    """Return when it happened, ``None`` where that is not said so that we can read it."""
    try:
        found = datetime.fromisoformat(told) if isinstance(told, str) else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)


def _text(told: object) -> str:
    if not isinstance(told, str) or not told:
        raise TypeError(f"{type(told).__name__} in the place of a text")
    return told


log = logging.getLogger(__name__)
_SHOWN = 200


class Notification(NamedTuple):
    """One received message, and the partitions of its objects.

    :param receipt: of this reception.
    :param partitions: of the objects that it says were created; none where objects were removed, or are not asked for.
    :param understood: whether that is all of it; otherwise nobody deletes or hides it.
    """

    receipt: str
    partitions: tuple[PartitionIdentifier, ...]
    understood: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """The choice of objects that become partitions: the rules of listings, for what is told one by one.

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
