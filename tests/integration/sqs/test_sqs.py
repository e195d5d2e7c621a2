"""S3's notifications in a real queue of moto's: each object is a partition, and no message is lost or counts twice."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.follow_ups import DeleteObjects
from airflow_coordination.leases import InvalidInputError, SourceCoordinator
from airflow_coordination.sources import SourceError, sqs_notifications
from airflow_coordination.stores import open_store
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from tests.integration.sqs.conftest import REGION

ACKNOWLEDGED = {"delete": "acknowledged"}
HOURS_12 = timedelta(hours=12)


def names(one: SourceCoordinator) -> list[str]:
    return [partition.payload["path"].rpartition("/")[2] for partition in one.partitions()]


def test_each_object_becomes_a_partition_and_its_message_goes(queue, told, left) -> None:
    one = SourceCoordinator(open_store("memory://"), "s", "me")
    told(*(f"{number:03}" for number in range(125)))
    supplier = sqs_notifications(queue, region=REGION)
    assert one.run_supplier(supplier).created.created == 125
    assert (names(one), left()) == ([f"{number:03}" for number in range(125)], 0)
    told("000", "001")
    told("000", sequencer="02")
    run = one.run_supplier(supplier)
    assert (run.created.created, run.created.existing, left()) == (1, 2, 0)
    assert one.supplying.global_state() == {}


def test_what_is_not_understood_stays_in_the_queue(sqs, queue, told, left, caplog) -> None:
    one = SourceCoordinator(open_store("memory://"), "s", "me")
    sqs.send_message(QueueUrl=queue, MessageBody="something else")
    sqs.send_message(QueueUrl=queue, MessageBody=json.dumps({"Event": "s3:TestEvent"}))
    told("a")
    assert one.run_supplier(sqs_notifications(queue, region=REGION)).created.created == 1
    assert left() == 1
    assert f"Left in {queue}: something else" in caplog.text


def test_s11_a_supplier_killed_at_any_call_loses_no_message(sqs, queue, told, left) -> None:
    """It dies before and after each call to the store; the messages come again when they are visible."""
    soon = sqs_notifications(queue, region=REGION, visibility=timedelta(seconds=1))

    def dies(number: int, fault: Fault, store: Any) -> bool:
        faulty = FaultyStore(store, {number: fault}, only=("create", "write"))
        try:
            SourceCoordinator(faulty, "s", "h/d/r/t/0/1").run_supplier(soon)
        except Crash:
            return True
        return False

    deaths = 0
    for number in range(1, 9):
        for fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER):
            store = open_store("memory://")
            told("a", "b", "c")
            deaths += dies(number, fault, store)
            one = SourceCoordinator(store, "s", "h/d/r/t/0/2")
            while left():
                one.run_supplier(soon)
            assert names(one) == ["a", "b", "c"]
        if deaths < 2 * number:
            break
    assert deaths >= 6, "create, save, give back"


def test_a_bound_leaves_the_rest_for_the_next_run(queue, told, left) -> None:
    one = SourceCoordinator(open_store("memory://"), "s", "me")
    told(*(f"{number:03}" for number in range(150)))
    assert one.run_supplier(sqs_notifications(queue, region=REGION, max_messages=1)).created.created == 100
    assert left() == 50


def test_the_objects_can_be_deleted_when_they_are_done(s3, bucket, sqs, queue) -> None:
    s3.put_object(Bucket=bucket, Key="in/a b.json", Body=b"x")
    etag = s3.head_object(Bucket=bucket, Key="in/a b.json")["ETag"].strip('"')
    stored = {"key": "in/a+b.json", "size": 1, "eTag": etag, "sequencer": "01"}
    body = {"eventSource": "aws:s3", "eventName": "ObjectCreated:Put"}
    body |= {"s3": {"bucket": {"name": bucket}, "object": stored}}
    sqs.send_message(QueueUrl=queue, MessageBody=json.dumps({"Records": [body]}))
    one = SourceCoordinator(open_store("memory://"), "s", "me")
    one.run_supplier(sqs_notifications(queue, region=REGION))
    [partition] = one.partitions()
    DeleteObjects.of(partition).pinned(partition).carry_out()
    assert s3.list_objects_v2(Bucket=bucket).get("KeyCount") == 0


def test_a_queue_that_is_not_there_says_so(queue) -> None:
    one = SourceCoordinator(open_store("memory://"), "s", "me")
    with pytest.raises(SourceError, match=rf"Cannot receive notifications: {queue}-gone answers .*NonExistentQueue"):
        one.run_supplier(sqs_notifications(f"{queue}-gone", region=REGION))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"queue_url": "q"}, "queue_url='q': is no URL of a queue. Give https://sqs.<region>.amazonaws.com/…"),
        ({"max_messages": 0}, "max_messages=0: is not a whole number above zero. Give 1 or more"),
        ({"visibility": timedelta(0)}, "visibility=datetime.timedelta(0): is zero. Give a positive timedelta"),
        ({"delete": "never"}, "delete='never': is no time to delete messages. Give 'created' or 'acknowledged'"),
        ({"again_after": timedelta(1)}, "has no meaning where messages are deleted at once. Leave it out, or give del"),
        ({"again_after": timedelta(0), **ACKNOWLEDGED}, "again_after=datetime.timedelta(0): is zero"),
        (
            {"again_after": HOURS_12, **ACKNOWLEDGED},
            "visibility and again_after=datetime.timedelta(seconds=43320): is longer than the",
        ),
        (
            {"visibility": 2 * HOURS_12},
            "visibility=datetime.timedelta(days=1): is longer than the 12 hours for",
        ),
        ({"queue_url": "https://q.fifo", **ACKNOWLEDGED}, "is a FIFO queue, in which later messages would wait for"),
    ],
)
def test_bad_arguments_are_named(arguments, said) -> None:
    with pytest.raises(InvalidInputError) as raised:
        sqs_notifications(**({"queue_url": "https://q"} | arguments))
    assert said in str(raised.value)
