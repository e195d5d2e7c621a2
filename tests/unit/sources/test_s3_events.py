"""What messages say of objects in S3, in the forms that S3, SNS and EventBridge give them."""

from __future__ import annotations

import json

import pytest

from airflow_coordination.sources.sqs.events import NewObject, NotUnderstoodError, new_objects


def record(name: str = "in/a+b%25%C3%A9.json", event: str = "ObjectCreated:Put", **changes: object) -> dict:
    told = {"key": name, "size": 7, "eTag": "e1", "sequencer": "0A1B"} | changes
    return {"eventSource": "aws:s3", "eventName": event, "s3": {"bucket": {"name": "b"}, "object": told}}


FOUND = NewObject("b", "in/a b%\u00e9.json", 7, "e1", "0A1B")
BRIDGED = {
    "source": "aws.s3",
    "detail-type": "Object Created",
    "detail": {
        "bucket": {"name": "b"},
        "object": {"key": "in/a b%\u00e9.json", "size": 7, "etag": "e1", "sequencer": "0A1B"},
    },
}


def test_s3_s_own_form_has_encoded_names() -> None:
    assert new_objects(json.dumps({"Records": [record(), record("x", "ObjectCreated:Copy")]})) == [
        FOUND,
        NewObject("b", "x", 7, "e1", "0A1B"),
    ]


def test_sns_has_put_it_into_a_text() -> None:
    inner = json.dumps({"Records": [record()]})
    assert new_objects(json.dumps({"Type": "Notification", "TopicArn": "arn", "Message": inner})) == [FOUND]


def test_eventbridge_has_plain_names() -> None:
    assert new_objects(json.dumps(BRIDGED)) == [FOUND]


@pytest.mark.parametrize(
    "body",
    [
        {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "b"},
        {"Records": []},
        {"Records": [record(event="ObjectRemoved:Delete")]},
        BRIDGED | {"detail-type": "Object Deleted"},
    ],
)
def test_a_test_and_removed_objects_are_understood_and_are_no_partitions(body: dict) -> None:
    assert new_objects(json.dumps(body)) == []


@pytest.mark.parametrize(
    "body",
    ["no json", "[1]", "7", '{"Records": [{}]}', "{}", json.dumps({"Records": [{"eventSource": "aws:sns"}]})],
)
def test_what_is_something_else_is_not_understood(body: str) -> None:
    with pytest.raises(NotUnderstoodError):
        new_objects(body)


def test_an_object_that_is_written_again_is_another_partition() -> None:
    [first], [again] = (new_objects(json.dumps({"Records": [record(sequencer=each)]})) for each in ("01", "02"))
    assert first.identifier().key != again.identifier().key
    assert first.identifier().payload == {"path": "s3://b/in/a b%\u00e9.json", "size": 7, "etag": "e1"}
    assert new_objects(json.dumps({"Records": [record(sequencer=None)]}))[0].version == "e1"


def test_parts_of_a_key_do_not_run_into_each_other() -> None:
    one = NewObject("b", "a|b", 1, None, "v").identifier().key
    assert one != NewObject("b", "a", 1, None, "b|v").identifier().key
