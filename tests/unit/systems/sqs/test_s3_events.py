"""What messages say of objects in S3, in the forms that S3, SNS and EventBridge give them."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.leases import InvalidInputError
from airflow_coordination.sources import sqs_notifications
from airflow_coordination.systems.sqs.events import NewObject, NotUnderstoodError, new_objects
from airflow_coordination.systems.sqs.supplier import SqsNotifications


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
    assert first.identifier().payload == {"path": "s3a://b/in/a b%\u00e9.json", "size": 7, "etag": "e1"}
    assert new_objects(json.dumps({"Records": [record(sequencer=None)]}))[0].version == "e1"


def test_parts_of_a_key_do_not_run_into_each_other() -> None:
    one = NewObject("b", "a|b", 1, None, "v").identifier().key
    assert one != NewObject("b", "a", 1, None, "b|v").identifier().key


ODD = {
    "cut": "{",
    "deep list": "[" * 100_000,
    "deep object": '{"a":' * 2_000 + "1" + "}" * 2_000,
    "deep in a text": json.dumps({"Type": "Notification", "TopicArn": "x", "Message": "[" * 100_000}),
    "number beyond all": json.dumps(BRIDGED).replace('"size": 7', '"size": 1e400'),
    "number of 5,000 digits": '{"Records": ' + "1" * 5_000 + "}",
    "size Infinity": json.dumps({"Records": [record()]}).replace('"size": 7', '"size": Infinity'),
    "size text": json.dumps({"Records": [record(size="x")]}),
    "size below zero": json.dumps({"Records": [record(size=-5)]}),
    "size true": json.dumps({"Records": [record(size=True)]}),
    "records null": '{"Records": null}',
    "name is a number": json.dumps({"Records": [record(key=5)]}),
    "name is a list": json.dumps({"Records": [record(key=["a"])]}),
    "name is empty": json.dumps({"Records": [record("")]}),
    "name is no UTF-8": json.dumps({"Records": [record("%ff%fe")]}),
    "etag is an object": json.dumps({"Records": [record(eTag={"a": 1})]}),
    "bucket is an object": json.dumps({"Records": [record()]}).replace('"b"', '{"a": 1}'),
    "event is a list": json.dumps({"Records": [record()]}).replace('"ObjectCreated:Put"', '["a"]'),
    "event of tomorrow": json.dumps({"Records": [record(event="ObjectTeleported:Put")]}),
    "event of tomorrow, bridged": json.dumps({**BRIDGED, "detail-type": "Object Teleported"}),
    "source is a list": json.dumps({"Records": [{**record(), "eventSource": ["aws:s3"]}]}),
    "one name twice": '{"Records": [], "Records": [1]}',
}


class Queue:
    """A queue of SQS as boto3 shows it; what is received is not received again in this run."""

    def __init__(self, *bodies: str) -> None:
        self.messages = {str(number): body for number, body in enumerate(bodies)}
        self.waiting, self.deleted = list(self.messages), set()

    def receive_message(self, MaxNumberOfMessages: int, **_: object) -> dict[str, Any]:  # noqa: N803
        taken, self.waiting = self.waiting[:MaxNumberOfMessages], self.waiting[MaxNumberOfMessages:]
        return {"Messages": [{"Body": self.messages[each], "ReceiptHandle": each} for each in taken]}

    def delete_message_batch(self, Entries: list[dict], **_: object) -> dict[str, Any]:  # noqa: N803
        self.deleted |= {each["ReceiptHandle"] for each in Entries}
        return {}


def run(monkeypatch: pytest.MonkeyPatch, queue: Queue, **options: Any) -> list[str]:
    """Run the supplier and return its partitions' paths."""
    from airflow_coordination.leases import PartitionIdentifier
    from airflow_coordination.systems.sqs import queue as queues

    monkeypatch.setattr(queues, "sqs_client", lambda url, region: queue)
    supplier = sqs_notifications("https://sqs.here/q", **options)
    assert isinstance(supplier, SqsNotifications)
    return [each.payload["path"] for each in supplier({}) if isinstance(each, PartitionIdentifier)]


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_source_s1_what_is_odd_stays_and_is_named_and_the_others_go_on(
    body: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    good = json.dumps({"Records": [record("good")]})
    queue = Queue(good, body, good)
    assert run(monkeypatch, queue) == ["s3a://b/good"] * 2
    assert queue.deleted == {"0", "2"}
    assert "Left in https://sqs.here/q: " in caplog.text
    assert "1 messages are not understood, or not all of them, and stay" in caplog.text


@pytest.mark.parametrize("name", ["x%00y", "\ud800", "k" * 5_000])
def test_source_s1_a_message_is_kept_for_one_record_and_the_others_are_created(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = Queue(json.dumps({"Records": [record("one"), record(name), record("two")]}))
    assert run(monkeypatch, queue) == ["s3a://b/one", "s3a://b/two"]
    assert queue.deleted == set()


def test_source_s1_of_many_odd_messages_ten_are_named_in_one_line_each(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    run(monkeypatch, Queue(*["\x1b[31m\n2026 INFO forged"] * 25))
    lines = [each.getMessage() for each in caplog.records if "Left in" in each.getMessage()]
    assert len(lines) == 10
    assert all(line.isprintable() for line in lines)
    assert "25 messages are not understood" in caplog.text


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def _bodies(draw: st.DrawFn) -> str:
    """Bodies like those of storages, of which one part or several are something else."""
    told = draw(st.sampled_from([{"Records": [record()]}, BRIDGED]))
    changed = json.loads(json.dumps(told))
    for _ in range(draw(st.integers(1, 2))):
        at: Any = changed
        while True:
            keys = list(range(len(at))) if isinstance(at, list) else list(at)
            key = draw(st.sampled_from(keys))
            if not isinstance(at[key], dict | list) or not at[key] or draw(st.booleans()):
                break
            at = at[key]
        at[key] = draw(_JSON)
    return json.dumps(changed)


@given(_bodies() | st.text(max_size=30) | _JSON.map(json.dumps))
def test_source_s1_whatever_comes_is_understood_or_left_and_named(body: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        queue, good = Queue(json.dumps({"Records": [record("good")]}), body), "s3a://b/good"
        found = run(patch, queue, include_hidden=True)
    assert found[0] == good
    assert "0" in queue.deleted
    try:
        created = new_objects(body)
    except NotUnderstoodError:
        assert "1" not in queue.deleted
    else:
        assert "1" in queue.deleted or any(_impossible(each) for each in created)
        assert len(found) - 1 <= len(created)


def _impossible(found: NewObject) -> bool:
    try:
        found.identifier()
    except InvalidInputError:
        return True
    return False


@pytest.mark.parametrize(
    ("source", "event"),
    [("aws:s3", "s3:ObjectCreated:Put"), ("minio:s3", "s3:ObjectCreated:Put"), ("ceph:s3", "ObjectCreated:Put")],
)
def test_source_s3_other_storages_and_names_with_s3_in_front_are_understood(source: str, event: str) -> None:
    body = json.dumps({"Records": [{**record("a+b", event), "eventSource": source}]})
    [found] = new_objects(body)
    assert found.name == ("a+b" if source == "ceph:s3" else "a b"), "Ceph gives names as they are"
    removed = json.dumps({"Records": [{**record(event="s3:ObjectRemoved:Delete"), "eventSource": source}]})
    assert new_objects(removed) == []


def test_source_s3_notifications_are_filtered_as_listings_are(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    names = ("in/a.csv", "in/folder/", "in/_b.csv", "out/c.csv", "in/d.tmp")
    bodies = [json.dumps({"Records": [record(name)]}) for name in names]
    queue = Queue(*bodies)
    assert run(monkeypatch, queue, include_prefix="in/", exclude_suffix=".tmp") == ["s3a://b/in/a.csv"]
    assert queue.deleted == {"0", "1", "2", "3", "4"}, "they are understood, and make nothing"
    assert "1 objects have names that Spark reads no row of" in caplog.text
    assert "'in/_b.csv'" in caplog.text
    everything = run(monkeypatch, Queue(*bodies), include_hidden=True, scheme="s3")
    assert everything == ["s3://b/in/a.csv", "s3://b/in/_b.csv", "s3://b/out/c.csv", "s3://b/in/d.tmp"]


def test_source_s3_times_are_those_of_the_events(monkeypatch: pytest.MonkeyPatch) -> None:
    hours = [f"2026-01-01T{hour:02}:00:00.000Z" for hour in range(4)]
    bodies = [json.dumps({"Records": [{**record(f"{n}"), "eventTime": at}]}) for n, at in enumerate([*hours, "soon"])]
    between = {"start_time": datetime(2026, 1, 1, 1, tzinfo=UTC), "end_time": datetime(2026, 1, 1, 3, tzinfo=UTC)}
    found = run(monkeypatch, Queue(*bodies), **between)
    assert found == ["s3a://b/1", "s3a://b/2", "s3a://b/4"], "one that does not say when is in time, as in a listing"


def test_source_s3_a_message_about_another_bucket_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(json.dumps({"Records": [record("a")]}), json.dumps({"Records": [record("a")]}).replace('"b"', '"c"'))
    assert run(monkeypatch, queue, buckets="c") == ["s3a://c/a"]
    assert queue.deleted == {"1"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scheme": "gs"}, r"scheme='gs': is no scheme of S3. Give one of s3, s3a, s3n"),
        ({"buckets": ""}, r"buckets='': is not a text or a list of texts"),
        ({"include_prefix": [""]}, r"include_prefix=.*: is not a text or a list of texts"),
        ({"start_time": "today"}, r"start_time='today': is str, not a datetime"),
    ],
)
def test_source_s3_options_that_cannot_be_used_are_refused(options: dict, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        sqs_notifications("https://sqs.here/q", **options)
