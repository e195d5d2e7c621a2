"""Listing a bucket of S3, page by page, with whatever client is at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from airflow_coordination.systems.objects.listing import StoredObject
from airflow_coordination.systems.suppliers import SourceError, client_of, wrapped
from airflow_coordination.values.input_errors import InvalidInputError

SCHEMES = ("s3", "s3a", "s3n")
_ACTION = "list a bucket"
_ARCHIVES = ("GLACIER", "DEEP_ARCHIVE")
"""Storage classes whose objects nobody can read before they are restored; from GLACIER_IR they are read at once."""


@dataclass(frozen=True, slots=True)
class S3Listing:
    """A bucket of S3 or of a compatible storage.

    S3 lists 1,000 keys at a time in the order of their bytes, and goes on after any key: no page is kept, and
    nothing but the last key is needed to resume. (Directory buckets of S3 Express have no such order.)

    :param where: ``s3://bucket/prefix`` or ``s3a://…``; the objects' addresses have the same scheme. As in S3 a
        prefix is the beginning of a key, not a directory: end it with ``/`` if you mean one.
    :param client: a boto3 S3 client, an Airflow ``S3Hook``, or a function that returns one of them, called when
        the bucket is listed; ``None`` for boto3's own default.
    :param requester_pays: whether this account pays for the requests.
    :raises InvalidInputError: when ``where`` names no bucket.
    """

    where: str
    client: Any = field(default=None, repr=False)
    requester_pays: bool = False

    def __post_init__(self) -> None:
        scheme, separator, _ = self.where.partition("://")
        if scheme not in SCHEMES or not separator or not self.bucket:
            raise InvalidInputError("where", self.where, "names no bucket", "Write s3://bucket/prefix")

    @property
    def bucket(self) -> str:
        """The bucket's name."""
        return self.where.partition("://")[2].partition("/")[0]

    @property
    def prefix(self) -> str:
        """The common beginning of all keys."""
        return self.where.partition("://")[2].partition("/")[2]

    def address(self, key: str) -> str:
        """Return the object's URL, in the scheme that was given."""
        return f"{self.where.partition('://')[0]}://{self.bucket}/{key}"

    def now(self) -> datetime:
        """Return the time by S3's own clock: the ``Date`` of its answer to one small request."""
        with wrapped(_ACTION, self.where):
            answer = self._connect().list_objects_v2(**self._request(self.prefix), MaxKeys=1)
        date = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
        return parsedate_to_datetime(date) if date else datetime.now(UTC)

    def objects(self, prefix: str, start_after: str) -> Iterator[StoredObject]:
        """Yield the objects of one page after the other; see :class:`Listing`."""
        request = {**self._request(prefix), "OptionalObjectAttributes": ["RestoreStatus"]}
        if start_after:
            request["StartAfter"] = start_after
        with wrapped(_ACTION, self.where):
            for page in self._connect().get_paginator("list_objects_v2").paginate(**request):
                yield from map(_object, page.get("Contents", ()))

    def _request(self, prefix: str) -> dict[str, Any]:
        request: dict[str, Any] = {"Bucket": self.bucket, "Prefix": prefix}
        return request | ({"RequestPayer": "requester"} if self.requester_pays else {})

    def _connect(self) -> Any:
        return client_of(self.client, lambda: _default_client(self.where))


def _object(entry: Mapping[str, Any]) -> StoredObject:
    etag = entry.get("ETag", "").strip('"') or None
    return StoredObject(entry["Key"], entry["Size"], entry["LastModified"], etag, _archive(entry))


def _archive(entry: Mapping[str, Any]) -> str | None:
    """Return the archive that an object is in, ``None`` where it can be read, as while it is restored."""
    kept = entry.get("StorageClass")
    restored = "RestoreExpiryDate" in entry.get("RestoreStatus", {})
    return kept if kept in _ARCHIVES and not restored else None


def _default_client(where: str) -> Any:
    try:
        import boto3
    except ModuleNotFoundError as error:
        raise SourceError(
            _ACTION, where, "needs boto3, which is not here", "Install airflow-coordination[aws]"
        ) from error
    return boto3.client("s3")
