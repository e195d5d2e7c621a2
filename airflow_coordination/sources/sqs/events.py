"""What messages say of objects in S3, whoever has wrapped them on their way: S3 itself, SNS, EventBridge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote_plus

from airflow_coordination.leases.names import SEPARATOR, encode_part
from airflow_coordination.leases.partition import PartitionIdentifier

_CREATED: Final = ("ObjectCreated:", "ObjectRestore:Completed")
_BRIDGED: Final = ("Object Created", "Object Restore Completed")


class NotUnderstoodError(Exception):
    """A message that is no notification of S3."""


@dataclass(frozen=True, slots=True)
class NewObject:
    """One object that was created.

    :param version: tells one creation under its name from another: S3's sequencer, or the ETag.
    """

    bucket: str
    name: str
    size: int
    etag: str | None
    version: str

    def identifier(self) -> PartitionIdentifier:
        """Return its partition, ``bucket|name|version``: an object that is written again is another one."""
        key = SEPARATOR.join(map(encode_part, (self.bucket, self.name, self.version)))
        payload = {"path": f"s3://{self.bucket}/{self.name}", "size": self.size, "etag": self.etag}
        return PartitionIdentifier(key, payload)


def new_objects(body: str) -> list[NewObject]:
    """Return the objects that a message says were created: none for a test of S3, or where objects were removed.

    :raises NotUnderstoodError: when it says nothing of objects in S3.
    """
    try:
        return list(_objects(_unwrapped(json.loads(body))))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise NotUnderstoodError(repr(error)) from error


def _unwrapped(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what SNS has put into a text."""
    if found.get("Type") == "Notification" and "TopicArn" in found:
        inner: Mapping[str, Any] = json.loads(found["Message"])
        return inner
    return found


def _objects(found: Mapping[str, Any]) -> Iterator[NewObject]:
    if found.get("Event") == "s3:TestEvent":
        return
    if found.get("source") == "aws.s3":
        if found["detail-type"] in _BRIDGED:
            yield _object(found["detail"]["bucket"], found["detail"]["object"], found["detail"]["object"]["key"])
        return
    for record in found["Records"]:
        if record["eventSource"] != "aws:s3":
            raise ValueError(record["eventSource"])
        if record["eventName"].startswith(_CREATED):
            yield _object(record["s3"]["bucket"], record["s3"]["object"], unquote_plus(record["s3"]["object"]["key"]))


def _object(bucket: Mapping[str, Any], told: Mapping[str, Any], name: str) -> NewObject:
    etag = told.get("eTag") or told.get("etag")
    version = told.get("sequencer") or etag
    if not version:
        raise ValueError("neither sequencer nor ETag")
    return NewObject(str(bucket["name"]), name, int(told.get("size") or 0), etag, str(version))
