"""What a store has beside leases: asked once, and told by wrappers as it is."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta

import pytest

from airflow_coordination.leases import SettingsError, SourceCoordinator
from airflow_coordination.protocol.beside.parts import StoreParts, parts_of
from airflow_coordination.protocol.pause import NEVER_PAUSED
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.stores import open_store
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import FaultyStore
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.errors import PartitionUpdateError

NAMES = [each.name for each in fields(StoreParts)]
DEAR = "glances"
"""What a store has for which it is dear to be sure that nothing moves: of ours, DynamoDB's."""


class Glancing(ForwardingStore):
    """A store that has each part."""

    def parts(self) -> StoreParts:
        return replace(super().parts(), glances=self)

    def glance(self, source: str) -> Outlook:
        return self.store.outlook(source)


class Lacking(ForwardingStore):
    """A store that has fewer parts."""

    lacks: tuple[str, ...] = ()

    def parts(self) -> StoreParts:
        return replace(super().parts(), **dict.fromkeys(self.lacks))


def lacking(*names: str) -> Lacking:
    store = Lacking(InMemoryStore(FakeClock()))
    store.lacks = names
    return store


def there(store: object) -> set[str]:
    has = parts_of(store)  # type: ignore[arg-type]
    return {name for name in NAMES if getattr(has, name) is not None}


@pytest.mark.parametrize(
    ("url", "lacks"),
    [
        ("memory://", {"sums", DEAR}),
        ("sqlite:///{}/store.db", {DEAR}),
        ("sqlite:///{}/store.db?history_retention=off", {"history", "ended", DEAR}),
    ],
)
def test_our_stores_are_their_parts_themselves(url: str, lacks: set[str], tmp_path) -> None:
    store = open_store(url.format(tmp_path))
    assert there(store) == set(NAMES) - lacks
    assert {getattr(parts_of(store), name) for name in set(NAMES) - lacks} == {store}


@pytest.mark.parametrize(("retention", "more"), [(None, set()), (timedelta(days=1), {"history", "ended"})])
def test_dynamodb_has_a_history_where_it_is_asked_for_and_no_fused_step(retention, more) -> None:
    store = DynamoDBStore(DynamoDBOptions(table_name="t", history_retention=retention))
    parts = {"pauses", "follow_ups", "enabling", "chunks", "head_intervals", "documents", "branches", DEAR}
    assert there(store) == parts | more


@pytest.mark.parametrize("name", NAMES)
def test_a_wrapper_has_what_the_wrapped_store_has(name: str, tmp_path) -> None:
    below = Lacking(Glancing(open_store(f"sqlite:///{tmp_path}/store.db")))
    assert getattr(parts_of(FaultyStore(below)), name) is not None
    below.lacks = (name,)
    assert there(FaultyStore(below)) == set(NAMES) - {name}


def test_a_part_may_be_another_object_than_its_store() -> None:
    """A wrapper calls that one, through its own door."""
    told, apart = [], InMemoryStore(FakeClock())
    apart.register("flights|PARTITION", {})

    class Apart(ForwardingStore):
        def parts(self) -> StoreParts:
            return StoreParts(pauses=apart)

    class Telling(ForwardingStore):
        def forward(self, name, call):
            told.append(name)
            return call()

    one = SourceCoordinator(Telling(Apart(InMemoryStore(FakeClock()))), "flights", "one")
    one.pausing.pause(by="ana", why="why")
    assert apart.pause("flights|PARTITION").paused
    assert told == ["pause", "set_pause"]


def test_a_coordinator_does_without_each_part() -> None:
    store = lacking(*NAMES)
    one = SourceCoordinator(store, "flights", "one", max_failures=1)
    one.create_partitions(["a", "b", "c"])
    lease = one.complete_and_get_next(one.get_next_partition())
    one.fail(lease, "boom")
    assert one.pausing.current_pause() == NEVER_PAUSED
    assert not one.pausing.holds_back()
    assert [past.owner for past in one.history("a")] == [None]
    assert (one.looking.past_tenures(), list(one.follow_ups.follow_ups())) == ((), [])
    assert one.people.reset("a", by="ana", why="why").key == "a"
    assert one.explain("c").sentence
    assert one.accounting().partitions == 0
    with pytest.raises(SettingsError, match="knows of no pauses"):
        one.pausing.pause(by="ana", why="why")
    last = one.get_next_partition()
    with pytest.raises(SettingsError, match="keeps no follow-ups"):
        one.complete(last, then="{}")
    with pytest.raises(PartitionUpdateError, match="is not paused"):
        one.moving.wait_until_paused()
