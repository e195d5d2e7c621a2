"""These tests run on the local S3 and SQS."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import boto3
import pytest

from airflow_coordination.systems.sqs import queue as queues
from tests.integration.outputs_s3.local_s3 import bucket, s3

__all__ = ["bucket", "s3"]

REGION = "us-east-1"


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """This queue has what was sent at once."""
    monkeypatch.setattr(queues, "_WAIT_SECONDS", 0)


@pytest.fixture
def sqs(moto_server: str) -> Any:
    return boto3.client("sqs", region_name=REGION, endpoint_url=moto_server)


@pytest.fixture
def queue(sqs: Any, request: pytest.FixtureRequest) -> str:
    url: str = sqs.create_queue(QueueName=f"n{abs(hash(request.node.nodeid))}")["QueueUrl"]
    return url


@pytest.fixture
def told(sqs: Any, queue: str) -> Callable[..., None]:
    """Let the bucket tell the queue of what was created, in a message each or in one together."""

    def told(*names: str, sequencer: str = "01", together: bool = False) -> None:
        for group in [names] if together else [(name,) for name in names]:
            body = {"Records": [_record(name, sequencer) for name in group]}
            sqs.send_message(QueueUrl=queue, MessageBody=json.dumps(body))

    return told


@pytest.fixture
def left(sqs: Any, queue: str) -> Callable[[], int]:
    """How many messages are in the queue, hidden ones included."""

    def left() -> int:
        found = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
        return sum(int(found[f"ApproximateNumberOfMessages{each}"]) for each in ("", "NotVisible"))

    return left


def _record(name: str, sequencer: str) -> dict[str, Any]:
    place = {"bucket": {"name": "b"}, "object": {"key": name, "size": 1, "eTag": "e", "sequencer": sequencer}}
    return {"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": place}
