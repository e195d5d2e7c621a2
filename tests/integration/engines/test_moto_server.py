"""One request at a time, and the other services that one moto serves."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import boto3
import pytest

from tests.engines.moto_server import OneAtATime


def service(name: str, endpoint: str) -> closing[Any]:
    return closing(boto3.client(name, region_name="us-east-1", endpoint_url=endpoint))


def test_no_two_requests_meet() -> None:
    both_inside = threading.Barrier(2)

    def application(*_: object) -> Iterator[bytes]:
        with pytest.raises(threading.BrokenBarrierError):
            both_inside.wait(0.2)
        yield b"alone"

    alone = OneAtATime(application)
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: alone({}, None), range(2)))
    assert answers == [[b"alone"], [b"alone"]]


def test_objects_come_back(moto_server: str) -> None:
    bucket = f"bucket-{uuid.uuid4().hex}"
    with service("s3", moto_server) as s3:
        s3.create_bucket(Bucket=bucket)
        s3.put_object(Bucket=bucket, Key="a/b", Body=b"flights")
        answer = s3.get_object(Bucket=bucket, Key="a/b")
        assert answer["Body"].read() == b"flights"
        assert answer["ResponseMetadata"]["HTTPHeaders"]["date"].endswith("GMT")


def test_a_role_can_be_made_and_assumed(moto_server: str) -> None:
    with service("iam", moto_server) as iam, service("sts", moto_server) as sts:
        role = iam.create_role(RoleName=f"role-{uuid.uuid4().hex}", AssumeRolePolicyDocument="{}")["Role"]
        assumed = sts.assume_role(RoleArn=role["Arn"], RoleSessionName="worker")
        assert assumed["AssumedRoleUser"]["Arn"].endswith(f"assumed-role/{role['RoleName']}/worker")


def test_requests_are_not_logged(moto_server: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="werkzeug"), service("s3", moto_server) as s3:
        s3.list_buckets()
    assert [record for record in caplog.records if record.name == "werkzeug"] == []
