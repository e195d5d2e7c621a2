"""What is created again after a tombstone's life shows: tokens go on for what was in branches (promise S22)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases import SettingsError
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.changes import TOMBSTONE_LIFE
from airflow_coordination.values.times import SystemClock
from tests.integration.dynamodb.engine import Engine
from tests.retention import STORED, Archive
from tests.simulation.dynamodb.engine import Engine as Simulated

WEEK = timedelta(days=7)


class Table:
    """A table of DynamoDB Local, or of the simulated engine, and the service's TTL, which deletes what is over."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine, self.name = engine, name
        self.store = engine.store(name)
        self.store.setup()
        self.store.enable_branches()

    def item(self, key: str) -> it.Item | None:
        """The item of a partition, a tombstone's, too."""
        found = self.engine.client.get_item(**self._named(key), ConsistentRead=True)
        return it.plain(found["Item"]) if found.get("Item") else None

    def expire(self, key: str) -> None:
        """Let a week go by."""
        found = self.item(key)
        over = (self.store.now() + TOMBSTONE_LIFE + timedelta(days=2)).timestamp()
        if found is not None and int(found.get(it.EXPIRATION, over + 1)) <= over:
            self.engine.client.delete_item(**self._named(key))

    def _named(self, key: str) -> dict[str, Any]:
        return {"TableName": self.name, "Key": it.typed(it.lease_key(STORED, key))}


@pytest.fixture(params=[pytest.param("local", marks=pytest.mark.dynamodb), "simulated"])
def table_with_branches(request: pytest.FixtureRequest, table: str) -> Iterator[Table]:
    if request.param == "local":
        engine: Engine = request.getfixturevalue("local")
        yield Table(engine, table)
        engine.delete(table)
    else:
        yield Table(Engine("http://simulated", Simulated(SystemClock().now)), table)


@pytest.mark.parametrize("over", ["published", "final", "rolled back"])
def test_s22_what_is_created_again_long_after_it_was_deleted_shows(table_with_branches: Table, over: str) -> None:
    table = table_with_branches
    archive = Archive(store=table.store)
    archive.publish("a")
    number = archive.begin()
    archive.publish("a", branch=number)
    archive.show(number)
    if over == "final":
        archive.finalize(number)
    elif over == "rolled back":
        archive.roll_back(number)
    archive.reset("a")
    archive.flights.people.delete("a", "ana", "named by mistake")
    table.expire("a")
    archive.publish("a")
    again = table.store.get(STORED, "a")
    assert again is not None
    assert again.token > 2
    assert archive.seen()["a"].startswith(f"{again.token}-")


def test_what_was_in_no_branch_is_forgotten_in_a_week(table_with_branches: Table) -> None:
    """Also where others of its source are in one, and one whose key begins as its own does."""
    table = table_with_branches
    archive = Archive(store=table.store)
    number = archive.begin()
    archive.publish("a")
    for other in ("aa", "a~7~clean", "b"):
        archive.publish(other, branch=number)
    archive.flights.people.delete("a", "ana", "named by mistake")
    found = table.item("a")
    assert found is not None
    assert found[it.DELETED]
    table.expire("a")
    assert table.item("a") is None
    archive.publish("a")
    assert archive.seen()["a"].startswith("1-")


def test_completed_partitions_may_not_go_by_themselves_where_branches_are(table_with_branches: Table) -> None:
    table = table_with_branches
    late = table.engine.store(table.name, ttl=WEEK)
    problem = "ttl='7 days, 0:00:00': lets completed partitions go by themselves, and what is created again"
    for call in (late.now, late.setup, late.enable_branches):
        with pytest.raises(SettingsError, match=problem):
            call()


def test_no_branches_where_completed_partitions_go_by_themselves(local: Engine, local_table: str) -> None:
    store: DynamoDBStore = local.store(local_table, ttl=WEEK)
    store.setup()
    with pytest.raises(SettingsError, match="Leave it out where a store has branches"):
        store.enable_branches()
    assert not store.branches_enabled()
    store.close()
