"""Deleting messages of SQS, and telling a URL, against real servers on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import pytest

from airflow_coordination.follow_ups import CallUrl, Carried, DeleteMessages, FollowUpError, ShowMessages
from airflow_coordination.leases import Partition, PartitionStatus
from airflow_coordination.systems.sqs.queue import sqs_client

PARTITION = Partition(source="s|PARTITION", key="k", status=PartitionStatus.ASSIGNED)


@pytest.fixture
def sqs(moto_server: str) -> Any:
    return boto3.client("sqs", region_name="us-east-1", endpoint_url=moto_server)


@pytest.fixture
def queue(sqs: Any, request: pytest.FixtureRequest) -> str:
    """A queue of 25 messages."""
    url: str = sqs.create_queue(QueueName=f"q{abs(hash(request.node.name))}")["QueueUrl"]
    for number in range(25):
        sqs.send_message(QueueUrl=url, MessageBody=str(number))
    return url


def received(sqs: Any, queue: str, number: int) -> list[str]:
    found: list[str] = []
    while len(found) < number:
        answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=600)
        found += [each["ReceiptHandle"] for each in answer["Messages"]]
    return found[:number]


def test_messages_are_deleted_in_batches(sqs, queue) -> None:
    receipts = received(sqs, queue, 25)
    action = DeleteMessages(queue, receipts[:23], "us-east-1")
    assert DeleteMessages.from_json(json.loads(json.dumps(action.to_json()))).carry_out() == Carried(23)
    counts = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert counts["ApproximateNumberOfMessagesNotVisible"] == "2"


def test_a_receipt_that_is_no_longer_valid_is_left_alone(sqs, queue) -> None:
    [receipt] = received(sqs, queue, 1)
    assert DeleteMessages(queue, receipt, "us-east-1").carry_out() == Carried(1)
    found = DeleteMessages(queue, [receipt, "no receipt of this queue"], "us-east-1").carry_out()
    assert found.done + len(found.left_alone) == 2
    assert f"a message of {queue} was given to somebody else again" in found.left_alone


def test_z11_messages_are_given_again(sqs, queue) -> None:
    receipts = received(sqs, queue, 25)
    action = ShowMessages(queue, receipts[:12], "us-east-1")
    assert ShowMessages.from_json(json.loads(json.dumps(action.to_json()))).carry_out() == Carried(12)
    assert len(received(sqs, queue, 12)) == 12
    again = ShowMessages(queue, receipts[0], "us-east-1").carry_out()
    assert again.done + len(again.left_alone) == 1
    counts = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert int(counts["ApproximateNumberOfMessages"]) <= 1


def test_a_queue_that_is_not_there_says_so(sqs, queue) -> None:
    with pytest.raises(FollowUpError, match=r"Cannot delete messages of .*-gone: .*NonExistentQueue.* Give this pro"):
        DeleteMessages(f"{queue}-gone", "r", "us-east-1").carry_out()


def test_a_process_that_knows_no_region_says_so(queue) -> None:
    with pytest.raises(FollowUpError, match=r"You must specify a region\. Give this process credentials"):
        DeleteMessages(queue, "r").carry_out()


def test_the_region_is_that_of_the_url() -> None:
    client = sqs_client("https://sqs.eu-west-1.amazonaws.com/1/q", None)
    assert (client.meta.region_name, client.meta.endpoint_url) == ("eu-west-1", "https://sqs.eu-west-1.amazonaws.com")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[Any] = []
        self.answers: list[int] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def call(server: _Server) -> CallUrl:
    action = CallUrl(f"http://127.0.0.1:{server.server_port}/done", {"rows": 3}).pinned(PARTITION)
    return CallUrl.from_json(json.loads(json.dumps(action.to_json())))


def test_a_url_hears_of_which_partition_it_is(server) -> None:
    server.answers = [503, 200]
    assert call(server).carry_out() == Carried(1)
    assert server.bodies == 2 * [{"source": "s|PARTITION", "partition": "k", "body": {"rows": 3}}]


@pytest.mark.parametrize("status", [301, 404])
def test_a_url_that_refuses_leaves_the_note(server, status) -> None:
    server.answers = [status]
    with pytest.raises(FollowUpError, match=rf"Cannot call http://.*/done: {status} .*takes a POST of JSON from here"):
        call(server).carry_out()
