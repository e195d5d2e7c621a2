"""What crosses a completion on DynamoDB between its look at the children and its transaction (S19, S20)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from threading import Lock
from typing import Any
from uuid import uuid4

import pytest

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.stores.dynamodb.children import TOGETHER, Children
from airflow_coordination.testing.clock import FakeClock
from tests.integration.dynamodb.engine import Engine, patient_client

Crossing = Callable[[SourceCoordinator], object]


@pytest.fixture
def store(moto_server: str) -> Iterator[DynamoDBStore]:
    yield from _store(moto_server)


@pytest.fixture
def store_with_ttl(moto_server: str) -> Iterator[DynamoDBStore]:
    yield from _store(moto_server, ttl=timedelta(days=1))


def _store(endpoint: str, **options: Any) -> Iterator[DynamoDBStore]:
    engine = Engine(endpoint, patient_client(endpoint))
    name = f"families-{uuid4().hex}"
    store = engine.store(name, FakeClock(), **options)
    store.setup()
    yield store
    store.close()
    engine.delete(name)


def coordinator(store: DynamoDBStore, owner: str = "one") -> SourceCoordinator:
    return SourceCoordinator(store, "families", f"host/dag/run/{owner}/0/1")


def crossed(monkeypatch: pytest.MonkeyPatch, store: DynamoDBStore, what: Crossing) -> list[int]:
    """Let something happen once, right after the children were listed; return how many were, look by look."""
    listed: list[int] = []
    whole = Children.waiting

    def waiting(self: Children, *given: Any) -> Any:
        found = whole(self, *given)
        listed.append(len(found))
        if len(listed) == 1:
            what(coordinator(store, "other"))
        return found

    monkeypatch.setattr(Children, "waiting", waiting)
    return listed


def family(store: DynamoDBStore, *parents: str) -> SourceCoordinator:
    one = coordinator(store)
    one.create_partitions([*parents, PartitionIdentifier("c", parents=parents)])
    return one


def complete(one: SourceCoordinator, key: str) -> None:
    lease = one.acquire_partition(key)
    assert lease is not None
    one.complete(lease)


def waits(one: SourceCoordinator, key: str) -> tuple[str, ...]:
    found = one.partition(key)
    assert found is not None
    return found.waits_for


def test_s20_a_child_that_is_created_meanwhile_is_seen(store: DynamoDBStore, monkeypatch: pytest.MonkeyPatch) -> None:
    one = family(store, "p")
    listed = crossed(
        monkeypatch, store, lambda other: other.create_partitions([PartitionIdentifier("late", parents=["p"])])
    )
    complete(one, "p")
    assert (listed, waits(one, "c"), waits(one, "late")) == ([1, 2], (), ())


def test_s20_two_parents_that_finish_at_once_both_arrive(store: DynamoDBStore, monkeypatch: pytest.MonkeyPatch) -> None:
    one = family(store, "p", "q")
    listed = crossed(monkeypatch, store, lambda other: complete(other, "q"))
    complete(one, "p")
    assert (listed, waits(one, "c")) == ([1, 1, 1], ())


def test_s19_a_child_that_is_made_anew_meanwhile_waits_for_its_new_parent(
    store: DynamoDBStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def anew(other: SourceCoordinator) -> None:
        other.people.delete("c", by="ana", why="a test")
        other.create_partitions([PartitionIdentifier("c", parents=["q"])])

    one = family(store, "p")
    one.create_partitions(["q"])
    crossed(monkeypatch, store, anew)
    complete(one, "p")
    assert waits(one, "c") == ("q",)


def test_s2_who_has_lost_the_lease_meanwhile_completes_nothing(
    store: DynamoDBStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = family(store, "p")
    crossed(monkeypatch, store, lambda other: other.people.release("p", by="ana", why="a test"))
    with pytest.raises(Exception, match="is not owned under fence"):
        complete(one, "p")
    assert waits(one, "c") == ("p",)


def test_children_of_one_parent_do_not_refuse_each_other(store: DynamoDBStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service cancels a transaction that meets another one on an item; engines for tests let them in by turns."""
    one, transact = coordinator(store), store.table.transact
    parents = [f"p{number}" for number in range(12)]
    one.create_partitions(parents)
    under_way, met, at_once, lock = Counter[str](), [], [0], Lock()

    def one_at_a_time(call: Call, changes: list[dict[str, Any]]) -> Any:
        keys = [change["Update"]["Key"]["sourcePartitionKey"]["S"] for change in changes if "Update" in change]
        with lock:
            met.extend(key for key in keys if under_way[key])
            under_way.update(keys)
            at_once.append(under_way.total())
        try:
            return transact(call, changes)
        finally:
            with lock:
                under_way.subtract(keys)

    monkeypatch.setattr(store.table, "transact", one_at_a_time)
    children = [
        PartitionIdentifier(f"{parent}-{number}", parents=[parent]) for number in range(4) for parent in parents
    ]
    merged = [PartitionIdentifier(f"m{number}", parents=parents[number : number + 2]) for number in range(3)]
    assert one.create_partitions([*children, *merged]).created == 51
    assert (met, max(at_once) > 2) == ([], True)


def test_s20_what_a_transaction_does_not_take_a_sweep_finds(
    store: DynamoDBStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends right after the completion."""
    one = coordinator(store)
    one.create_partitions(["p"])
    many = [f"c{number:03}" for number in range(TOGETHER + 10)]
    one.create_partitions([PartitionIdentifier(key, parents=["p"]) for key in many])
    with monkeypatch.context() as patch:
        patch.setattr(Children, "release_all", lambda *_: 0)
        complete(one, "p")
    assert one.looking.outlook().blocked == len(many)
    assert sum(one.sweep().released for _ in range(5)) == len(many)
    assert one.looking.outlook().blocked == 0
    parent = one.partition("p")
    assert parent is not None
    assert parent.awaited_op is None
    assert len(one.claimable(1_000)) == len(many)


def reset_before_look(monkeypatch: pytest.MonkeyPatch, store: DynamoDBStore, number: int) -> None:
    """Let the parent be reset, and named once more, right before its children are listed for the ``number``-th time."""
    looks, whole = count(1), Children.waiting

    def waiting(self: Children, *given: Any) -> Any:
        if next(looks) == number:
            other = coordinator(store, "other")
            other.people.reset("p", by="ana", why="a test")
            other.create_partitions([PartitionIdentifier("late", parents=["p"])])
        return whole(self, *given)

    monkeypatch.setattr(Children, "waiting", waiting)


def check_late_waits_for_the_second_end(one: SourceCoordinator) -> None:
    assert waits(one, "late") == ("p",)
    assert one.acquire_partition("late") is None
    complete(one, "p")
    assert (waits(one, "late"), one.looking.outlook().blocked) == ((), 0)


def test_s19_who_is_created_after_a_reset_is_not_released_with_the_others(
    store: DynamoDBStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many for one transaction: they are listed once more after it, and released one by one."""
    one = coordinator(store)
    one.create_partitions(["p"])
    one.create_partitions([PartitionIdentifier(f"c{number:03}", parents=["p"]) for number in range(TOGETHER + 1)])
    reset_before_look(monkeypatch, store, 2)
    complete(one, "p")
    check_late_waits_for_the_second_end(one)


def test_s19_nor_by_a_sweep_that_goes_on_with_them(store: DynamoDBStore, monkeypatch: pytest.MonkeyPatch) -> None:
    one = coordinator(store)
    one.create_partitions(["p"])
    one.create_partitions([PartitionIdentifier(f"c{number:03}", parents=["p"]) for number in range(TOGETHER + 1)])
    with monkeypatch.context() as patch:
        patch.setattr(Children, "release_all", lambda *_: 0)
        complete(one, "p")
    reset_before_look(monkeypatch, store, 1)
    assert one.sweep().released == 0
    check_late_waits_for_the_second_end(one)


def test_s20_the_next_few_are_looked_at_in_the_next_sweep(store: DynamoDBStore) -> None:
    """What older code has completed among many that wait rightly."""
    one = coordinator(store)
    one.create_partitions(["open", "done"])
    one.create_partitions([PartitionIdentifier(f"w{number:02}", parents=["open"]) for number in range(60)])
    one.create_partitions([PartitionIdentifier("last", parents=["done"])])
    lease = one.acquire_partition("done")
    assert lease is not None
    _complete_as_before(store, lease)
    sweeps = [one.sweep().released for _ in range(4)]
    assert (sum(sweeps), waits(one, "last")) == (1, ())


def test_s19_with_a_ttl_families_are_kept(store_with_ttl: DynamoDBStore) -> None:
    """A parent that is forgotten could not be named any more, and a child would be listed anew."""
    one = coordinator(store_with_ttl)
    one.create_partitions(["alone", "p", PartitionIdentifier("c", parents=["p"])])
    for key in ("alone", "p", "c"):
        complete(one, key)
    kept = {}
    for key in ("alone", "p", "c"):
        item = store_with_ttl.table.client.get_item(
            TableName=store_with_ttl.table.name,
            Key={"sourceIdentifier": {"S": "families|PARTITION"}, "sourcePartitionKey": {"S": key}},
        )["Item"]
        kept[key] = "expirationTime" not in item
    assert kept == {"alone": False, "p": True, "c": True}


def _complete_as_before(store: DynamoDBStore, lease: Any) -> None:
    """Complete as code that knows no children: nothing is asked of the stamp."""
    store.table.client.update_item(
        TableName=store.table.name,
        Key={"sourceIdentifier": {"S": lease.partition.source}, "sourcePartitionKey": {"S": lease.key}},
        UpdateExpression="SET sourcePartitionStatus = :done REMOVE sourceStatusCombinationKey",
        ExpressionAttributeValues={":done": {"S": "COMPLETED"}},
    )
