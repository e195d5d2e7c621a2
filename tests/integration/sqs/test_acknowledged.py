"""Messages that are deleted when their partitions have completed, in a real queue of moto's (S13, S27)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_coordination.duties.follow_ups import actions_of, note_of
from airflow_coordination.follow_ups import CallUrl, DeleteMessages, DeleteObjects, FollowUpRights, follow_up_all
from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.leases.supply import SourceView, Supplied
from airflow_coordination.sources import sqs_notifications
from airflow_coordination.stores import open_store
from airflow_coordination.systems.sqs.acknowledged import AcknowledgedNotifications
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from tests.integration.sqs.conftest import REGION
from tests.integration.sqs.test_sqs import names

SECOND = timedelta(seconds=1)


@pytest.fixture
def one() -> SourceCoordinator:
    return SourceCoordinator(open_store("memory://"), "s", "me")


@pytest.fixture
def supplier(queue: str) -> AcknowledgedNotifications:
    """Messages come again after a second."""
    return sqs_notifications(queue, region=REGION, delete="acknowledged", visibility=SECOND, again_after=SECOND)


@pytest.fixture
def seen_again(sqs: Any, queue: str):
    """Let all hidden messages come again at once: their receipts are old ones then."""

    def seen_again(receipts: list[str]) -> None:
        for receipt in receipts:
            sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=receipt, VisibilityTimeout=0)

    return seen_again


def receipts(one: SourceCoordinator) -> list[str]:
    return [partition.payload["message"]["receipt"] for partition in one.partitions()]


def complete(one: SourceCoordinator, *, then: bool = False) -> str:
    """Complete the next partition, with its message's deletion noted or not; return its name."""
    lease = one.get_next_partition()
    assert lease is not None
    note = note_of(DeleteMessages.of(lease.partition), lease.partition, lease.fence, None) if then else None
    one.complete(lease, then=note)
    return str(lease.partition.payload["path"].rpartition("/")[2])


def looks_again(one: SourceCoordinator, supplier: AcknowledgedNotifications) -> None:
    """Let the supplier run until a message has come again."""
    asked: list[str] = []

    class Noting:
        def supply(self, state: dict[str, Any], view: SourceView) -> Iterator[Supplied]:
            yield from supplier.supply(state, self.noting(view))

        def noting(self, view: SourceView) -> Any:
            return SimpleNamespace(partition=lambda key: (asked.append(key), view.partition(key))[1])

    while not asked:
        one.run_supplier(Noting())


def test_s13_a_message_stays_until_its_partition_has_completed(one, supplier, told, left, seen_again) -> None:
    told("a", "b")
    assert one.run_supplier(supplier).created.created == 2
    assert left() == 2
    assert complete(one) == "a"
    seen_again(receipts(one))
    run = one.run_supplier(supplier)
    assert (run.created.created, run.created.changed, left()) == (0, (), 1)
    assert complete(one) == "b"
    while left():
        one.run_supplier(supplier)
    assert names(one) == ["a", "b"]
    assert one.supplying.global_state() == {}


def test_s27_then_deletes_the_message_right_after_the_ending(one, told, left, queue) -> None:
    told("a", "b")
    one.run_supplier(sqs_notifications(queue, region=REGION, delete="acknowledged"))
    complete(one, then=True)
    assert left() == 2, "noted, and nothing is done before somebody reads the note"
    assert follow_up_all(one, rights=FollowUpRights.of_a_person()).done == 1
    assert left() == 1


def test_s27_a_receipt_that_is_outdated_leaves_the_message_to_the_supplier(
    one, supplier, told, left, seen_again, monkeypatch
) -> None:
    """SQS says that it has deleted, and has not; moto would delete."""
    monkeypatch.setattr("airflow_coordination.systems.sqs.deletion.refused_deletions", lambda *_: iter(()))
    told("a")
    one.run_supplier(supplier)
    complete(one, then=True)
    assert follow_up_all(one, rights=FollowUpRights.of_a_person()).done == 1
    assert left() == 1
    while left():
        one.run_supplier(supplier)
    assert names(one) == ["a"]


def test_s13_a_message_about_several_objects_waits_for_all_of_them(one, supplier, told, left) -> None:
    told("a", "b", together=True)
    assert one.run_supplier(supplier).created.created == 2
    assert [DeleteMessages.of(partition) for partition in one.partitions()] == [None, None]
    complete(one)
    looks_again(one, supplier)
    assert left() == 1
    complete(one)
    while left():
        one.run_supplier(supplier)


@pytest.mark.parametrize(
    "ends",
    [
        lambda one: one.fail(one.get_next_partition(), "boom"),
        lambda one: one.close(one.get_next_partition(), timedelta(hours=1)),
        lambda one: one.people.park("b|a|01", by="ana", why="later"),
        lambda one: one.get_next_partition(),
    ],
    ids=["failed", "closed", "parked", "held"],
)
def test_s13_no_other_ending_deletes_it(one, supplier, told, left, ends) -> None:
    told("a")
    one.run_supplier(supplier)
    ends(one)
    looks_again(one, supplier)
    assert left() == 1


def test_a_person_s_finish_and_reset_mean_what_they_say(one, supplier, told, left) -> None:
    """A reset partition is in the store and has to be done again: its message is not needed for that."""
    told("a", "b")
    one.run_supplier(supplier)
    for key in ("b|a|01", "b|b|01"):
        one.people.finish(key, by="ana", why="done elsewhere")
    one.people.reset("b|b|01", by="ana", why="once more")
    while left() == 2:
        one.run_supplier(supplier)
    assert complete(one) == "b"
    while left():
        one.run_supplier(supplier)


def test_two_messages_of_one_object_are_one_partition_and_both_go(one, supplier, told, left) -> None:
    told("a")
    told("a")
    run = one.run_supplier(supplier)
    assert (run.created.created, run.created.existing, run.created.changed) == (1, 0, ())
    complete(one)
    while left():
        one.run_supplier(supplier)
    assert names(one) == ["a"]


def test_what_is_no_new_object_is_deleted_at_once_and_what_is_not_understood_stays(
    one, supplier, sqs, queue, told, left, caplog
) -> None:
    sqs.send_message(QueueUrl=queue, MessageBody=json.dumps({"Event": "s3:TestEvent"}))
    sqs.send_message(QueueUrl=queue, MessageBody="something else")
    one.run_supplier(supplier)
    assert left() == 1
    assert f"Left in {queue}: something else" in caplog.text


def test_a_store_that_is_lost_is_filled_again(one, supplier, told, left) -> None:
    """What the queue is good for: what has not completed comes again, and what has does not."""
    told("a", "b", "c")
    one.run_supplier(supplier)
    assert complete(one, then=True) == "a"
    follow_up_all(one, rights=FollowUpRights.of_a_person())
    other = SourceCoordinator(open_store("memory://"), "s", "me")
    while names(other) != ["b", "c"]:
        other.run_supplier(supplier)
    assert left() == 2


def test_s11_a_supplier_killed_at_any_call_loses_no_message_and_deletes_none_too_early(
    queue, told, left, supplier
) -> None:
    def dies(number: int, fault: Fault, store: Any) -> bool:
        faulty = FaultyStore(store, {number: fault}, only=("create", "write", "get"))
        try:
            SourceCoordinator(faulty, "s", "h/d/r/t/0/1").run_supplier(supplier)
        except Crash:
            return True
        return False

    deaths = 0
    for number in range(1, 14):
        for fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER):
            store = open_store("memory://")
            told("a", "b")
            deaths += dies(number, fault, store)
            one = SourceCoordinator(store, "s", "h/d/r/t/0/2")
            while names(one) != ["a", "b"]:
                one.run_supplier(supplier)
            assert left() == 2
            assert [complete(one, then=True) for _ in "ab"] == ["a", "b"]
            follow_up_all(one, rights=FollowUpRights.of_a_person())
            while left():
                one.run_supplier(supplier)
            assert {partition.status for partition in one.partitions()} == {PartitionStatus.COMPLETED}
        if deaths < 2 * number:
            break
    assert deaths >= 10, "two looks, create, save, give back"


def test_a_path_that_leaves_no_room_has_no_receipt(one, supplier, told, left) -> None:
    told("\N{GREEK SMALL LETTER ALPHA}" * 640)
    one.run_supplier(supplier)
    [partition] = one.partitions()
    assert (set(partition.payload), DeleteMessages.of(partition)) == ({"path", "size", "etag"}, None)
    complete(one)
    while left():
        one.run_supplier(supplier)


def test_then_leaves_out_what_there_is_not_to_do(one, told, queue) -> None:
    told("a")
    one.run_supplier(sqs_notifications(queue, region=REGION))
    [partition] = one.partitions()
    assert DeleteMessages.of(partition) is None
    then = [DeleteObjects.of(partition), DeleteMessages.of(partition), CallUrl("http://localhost/done")]
    assert [action.kind for action in actions_of(then)] == ["delete objects", "call url"]
    assert actions_of(DeleteMessages.of(partition)) == ()
