"""Deleting messages of SQS: each refusal counts (S27)."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from airflow_coordination.follow_ups import Carried, DeleteMessages, FollowUpError
from airflow_coordination.systems.sqs import deletion

GONE = "ReceiptHandleIsInvalid"
QUEUE = "https://sqs.eu-west-1.amazonaws.com/1/q"


def refused(number: int, code: str) -> dict[str, Any]:
    return {"Id": str(number), "Code": code, "SenderFault": True, "Message": "no"}


@pytest.fixture
def sqs(monkeypatch: pytest.MonkeyPatch) -> Stubber:
    """A client of boto3 that gets the answers a test says, in the service's own shape."""
    client = boto3.client("sqs", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
    monkeypatch.setattr(deletion, "sqs_client", lambda url, region: client)
    return Stubber(client)


@pytest.mark.parametrize(
    "codes", [("ReceiptHandleIsInvalid", "InternalError"), ("InternalError", "ReceiptHandleIsInvalid")]
)
def test_small_x9_a_refusal_counts_beside_a_message_that_is_gone(sqs, codes) -> None:
    failed = [refused(number, code) for number, code in enumerate(codes)]
    sqs.add_response("delete_message_batch", {"Successful": [], "Failed": failed})
    with sqs, pytest.raises(FollowUpError, match="InternalError: no"):
        DeleteMessages(QUEUE, ["gone", "there"]).carry_out()


def test_a_refusal_in_a_later_batch_counts(sqs) -> None:
    receipts = [str(number) for number in range(11)]
    done = [{"Id": str(number)} for number in range(9)]
    gone = [refused(9, GONE)]
    sqs.add_response("delete_message_batch", {"Successful": done, "Failed": gone})
    sqs.add_response("delete_message_batch", {"Successful": [], "Failed": [refused(0, "AccessDenied")]})
    with sqs, pytest.raises(FollowUpError, match="AccessDenied: no"):
        DeleteMessages(QUEUE, receipts).carry_out()


def test_messages_that_are_gone_are_left_alone(sqs) -> None:
    gone = [refused(0, GONE)]
    sqs.add_response("delete_message_batch", {"Successful": [{"Id": "1"}], "Failed": gone})
    with sqs:
        assert DeleteMessages(QUEUE, ["a", "b"]).carry_out() == Carried(
            1, (f"a message of {QUEUE} was given to somebody else again",)
        )
