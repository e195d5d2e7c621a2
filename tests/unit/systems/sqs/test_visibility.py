"""Showing messages of SQS again: what a refusal means (Z11)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from airflow_coordination.follow_ups import Carried, FollowUpError, FollowUpRights, ShowMessages
from airflow_coordination.leases import InvalidInputError, Partition, PartitionStatus
from airflow_coordination.systems.sqs import visibility

QUEUE = "https://sqs.eu-west-1.amazonaws.com/1/q"


def refused(number: int, code: str) -> dict[str, Any]:
    return {"Id": str(number), "Code": code, "SenderFault": True, "Message": "no"}


@pytest.fixture
def sqs(monkeypatch: pytest.MonkeyPatch) -> Stubber:
    """A client of boto3 that gets the answers a test says, in the service's own shape."""
    client = boto3.client("sqs", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
    monkeypatch.setattr(visibility, "sqs_client", lambda url, region: client)
    return Stubber(client)


def test_z11_messages_are_shown_after_the_time_that_is_said(sqs) -> None:
    entries = [{"Id": str(number), "ReceiptHandle": each, "VisibilityTimeout": 90} for number, each in enumerate("ab")]
    answer = {"Successful": [{"Id": "0"}, {"Id": "1"}], "Failed": []}
    sqs.add_response("change_message_visibility_batch", answer, {"QueueUrl": QUEUE, "Entries": entries})
    with sqs:
        assert ShowMessages(QUEUE, ["a", "b"], after=timedelta(seconds=90)).carry_out() == Carried(2)


@pytest.mark.parametrize("code", ["MessageNotInflight", "ReceiptHandleIsInvalid", "InvalidParameterValue"])
def test_z11_a_message_that_others_have_or_that_is_visible_is_left_alone(sqs, code) -> None:
    answer = {"Successful": [{"Id": "1"}], "Failed": [refused(0, code)]}
    sqs.add_response("change_message_visibility_batch", answer)
    with sqs:
        carried = ShowMessages(QUEUE, ["a", "b"]).carry_out()
    left = f"a message of {QUEUE} is visible, gone, or was given to somebody else again"
    assert carried == Carried(1, (left,))


def test_z11_another_refusal_counts(sqs) -> None:
    answer = {"Successful": [], "Failed": [refused(0, "InternalError")]}
    sqs.add_response("change_message_visibility_batch", answer)
    with sqs, pytest.raises(FollowUpError, match=r"^Cannot show messages of .*/q: InternalError: no\. Give this"):
        ShowMessages(QUEUE, "a").carry_out()


@pytest.mark.parametrize("after", [timedelta(seconds=-1), timedelta(hours=13), 5])
def test_z11_a_time_that_sqs_does_not_take_is_refused(after) -> None:
    with pytest.raises(
        InvalidInputError, match=r"^after=.*is no time for which SQS hides a message\. Give a timedelta"
    ):
        ShowMessages(QUEUE, "a", after=after)


def test_z11_it_is_of_the_message_that_a_partition_was_made_of() -> None:
    message = f'{{"message": {{"queue": "{QUEUE}", "receipt": "r", "region": "eu-west-1"}}}}'
    partition = Partition(source="s|PARTITION", key="k", status=PartitionStatus.ASSIGNED, payload_text=message)
    minute = timedelta(minutes=1)
    assert ShowMessages.of(partition, minute) == ShowMessages(QUEUE, "r", "eu-west-1", minute)
    assert ShowMessages.of(Partition(source="s|PARTITION", key="k", status=PartitionStatus.ASSIGNED)) is None


def test_z11_only_who_may_touch_the_queue_may_show_its_messages() -> None:
    [place] = ShowMessages(QUEUE, "r").places()
    assert FollowUpRights(queues=QUEUE).allow(place)
    assert not FollowUpRights(queues=f"{QUEUE}2", urls=QUEUE).allow(place)
