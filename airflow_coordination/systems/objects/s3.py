"""The peculiarities of S3: multipart uploads that nobody finished, and batches that fail in part.

It speaks through the client of s3fs, so that credentials, endpoint and retries are the same for everything.
"""

from __future__ import annotations

import posixpath
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

BATCH = 1_000
"""The number of objects that one request deletes (S3: DeleteObjects)."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A multipart upload that is neither finished nor aborted.

    :param path: of the object it is for, relative to the directory that was listed.
    :param modified: when it was started.
    :param identifier: S3's name of it.
    """

    path: str
    modified: datetime
    identifier: str


def endpoint(filesystem: Any) -> str:
    """Return the address of the service."""
    return str(filesystem.s3.meta.endpoint_url)


def delete(filesystem: Any, path: str) -> None:
    """Delete an object and all below it, the empty objects that stand for directories included.

    :raises PermissionError: when an object cannot be deleted. s3fs itself would say nothing.
    """
    bucket, key, _ = filesystem.split_path(path)
    below = _all(filesystem, "list_objects_v2", "Contents", Bucket=bucket, Prefix=f"{key}/")
    keys = [key, *(entry["Key"] for entry in below)]
    for start in range(0, len(keys), BATCH):
        batch = {"Objects": [{"Key": key} for key in keys[start : start + BATCH]], "Quiet": True}
        answer = filesystem.call_s3("delete_objects", Bucket=bucket, Delete=batch)
        for error in answer.get("Errors", ()):
            raise PermissionError(f"{error['Key']}: {error['Code']}: {error.get('Message', '')}")
    filesystem.invalidate_cache()


def look(filesystem: Any, path: str) -> dict[str, Any]:
    """Return what is to be known of an object: ``size``, ``ETag``, ``LastModified``.

    :raises FileNotFoundError: when there is none.
    """
    bucket, key, _ = filesystem.split_path(path)
    found: dict[str, Any] = filesystem.call_s3("head_object", Bucket=bucket, Key=key)
    return {"size": found["ContentLength"], "ETag": found["ETag"], "LastModified": found["LastModified"]}


def listed(filesystem: Any, path: str) -> dict[str, Any] | None:
    """Return the same as a listing says it, ``None`` when there is none."""
    bucket, key, _ = filesystem.split_path(path)
    answer = filesystem.call_s3("list_objects_v2", Bucket=bucket, Prefix=key, MaxKeys=1)
    found = [{**each, "size": each["Size"]} for each in answer.get("Contents", ()) if each["Key"] == key]
    return found[0] if found else None


def delete_version(filesystem: Any, path: str, etag: str | None) -> bool:
    """Delete an object if it still has an ETag; return whether it had. A versioned bucket keeps it.

    The request names the ETag. A service that does not know of that deletes what is there, which was looked at a moment
    before.
    """
    bucket, key, _ = filesystem.split_path(path)
    if_match = {"IfMatch": f'"{etag}"'} if etag else {}
    try:
        filesystem.call_s3("delete_object", Bucket=bucket, Key=key, **if_match)
    except OSError as error:
        if "PreconditionFailed" in str(error.__cause__ or error):
            return False
        raise
    return True


def uploads(filesystem: Any, path: str) -> list[Upload]:
    """Return the unfinished uploads below a directory."""
    bucket, key, _ = filesystem.split_path(path)
    found = _all(filesystem, "list_multipart_uploads", "Uploads", Bucket=bucket, Prefix=f"{key}/")
    return [Upload(posixpath.relpath(entry["Key"], key), entry["Initiated"], entry["UploadId"]) for entry in found]


def abort(filesystem: Any, path: str, upload: Upload) -> None:
    """Abort an upload that was listed below ``path``, and so free its parts; no error if it is gone."""
    bucket, key, _ = filesystem.split_path(posixpath.join(path, upload.path))
    with suppress(FileNotFoundError):
        filesystem.call_s3("abort_multipart_upload", Bucket=bucket, Key=key, UploadId=upload.identifier)


def _all(filesystem: Any, operation: str, field: str, **where: str) -> list[dict[str, Any]]:
    from fsspec.asyn import sync

    async def pages() -> list[dict[str, Any]]:
        await filesystem.set_session()
        client = await filesystem.get_s3(where["Bucket"])
        answers = client.get_paginator(operation).paginate(**where)
        return [entry async for answer in answers for entry in answer.get(field, ())]

    found: list[dict[str, Any]] = sync(filesystem.loop, pages)
    return found
