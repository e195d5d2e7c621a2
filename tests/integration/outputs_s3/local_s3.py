"""The local S3: a bucket per test, and the environment that leads there."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
import s3fs

NUMBERS = itertools.count()


@pytest.fixture
def s3(moto_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of the local S3, where this process's own storage goes, too."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", moto_server)
    s3fs.S3FileSystem.clear_instance_cache()
    yield boto3.client("s3", region_name="us-east-1")
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def bucket(s3: Any) -> str:
    name = f"outputs-{next(NUMBERS)}"
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture
def root(bucket: str) -> str:
    return f"s3a://{bucket}/deep/out"


@pytest.fixture
def keys(s3: Any, bucket: str):
    """What is in the bucket now."""

    def keys() -> list[str]:
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    return keys


@pytest.fixture
def uploads(s3: Any, bucket: str):
    """The keys with an unfinished upload now."""

    def uploads() -> list[str]:
        return sorted(entry["Key"] for entry in s3.list_multipart_uploads(Bucket=bucket).get("Uploads", []))

    return uploads


def deny(s3: Any, bucket: str, *actions: str, objects: str = "*") -> None:
    """Forbid actions on a bucket's objects to everybody."""
    resource = [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/{objects}"]
    statement = {"Effect": "Deny", "Principal": "*", "Action": list(actions), "Resource": resource}
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}))
