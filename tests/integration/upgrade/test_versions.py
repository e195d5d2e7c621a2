"""Promise S16 at the start: code that is too old or too new for a store refuses it, and says what to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_coordination.leases import SchemaVersionError, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.stores.sql.schema import SCHEMA_VERSION
from airflow_coordination.stores.sql.statements.dialect import Statement
from airflow_coordination.stores.sql.store import SqlStore

MIGRATE = "airflow coordination store migrate"
Says = Callable[[int, int], None]


@pytest.fixture
def one(url: str) -> SourceCoordinator:
    """A worker on a store that is set up."""
    store = open_store(url)
    store.setup()
    return SourceCoordinator(store, "flights", "one")


@pytest.fixture
def says(one: SourceCoordinator) -> Says:
    """Make the store say that it has a schema, and which code may work with it."""
    store = one.store
    if isinstance(store, SqlStore):
        return lambda schema, readable_by: _say_in_sql(store, schema, readable_by)
    assert isinstance(store, DynamoDBStore)
    return lambda schema, readable_by: _say_in_dynamodb(store, schema, readable_by)


def _say_in_sql(store: SqlStore, schema: int, readable_by: int) -> None:
    text = f"UPDATE coordination_meta SET schema_version = {schema}, readable_by = {readable_by}"
    store.database.fetch(Call("test"), Statement(text, () if store.database.dialect.locks else None), {})


def _say_in_dynamodb(store: DynamoDBStore, schema: int, readable_by: int) -> None:
    table = {"TableName": store.table.name}
    [item] = [item for item in store.table.client.scan(**table)["Items"] if "storeId" in item]
    versions = {"schema": {"N": str(schema)}, "readableBy": {"N": str(readable_by)}}
    store.table.client.put_item(Item=item | versions, **table)


def test_s16_code_that_is_too_old_refuses_to_start_and_says_what_to_do(url: str, says: Says) -> None:
    newer = SCHEMA_VERSION + 2
    says(newer, SCHEMA_VERSION + 1)
    problem = f"its schema {newer} is too new for this code, which knows"
    for start in (lambda: open_store(url).store_id, lambda: open_store(url).setup()):
        with pytest.raises(SchemaVersionError, match=problem) as refused:
            start()
        assert "Upgrade airflow-coordination here to the version of the code that migrated" in str(refused.value)
        assert MIGRATE not in str(refused.value)


def test_s16_code_that_is_too_new_refuses_until_the_store_is_migrated(
    url: str, one: SourceCoordinator, says: Says
) -> None:
    one.create_partitions(["k"])
    says(0, 0)
    with pytest.raises(SchemaVersionError, match="its schema 0 is too old for this code") as refused:
        assert open_store(url).store_id
    assert MIGRATE in str(refused.value)
    open_store(url).setup()
    migrated = open_store(url)
    assert migrated.store_id == one.store.store_id
    assert SourceCoordinator(migrated, "flights", "two").get_next_partition() is not None


def test_s16_code_that_may_share_a_newer_store_works_and_leaves_its_schema(
    url: str, one: SourceCoordinator, says: Says
) -> None:
    says(SCHEMA_VERSION + 1, SCHEMA_VERSION)
    neighbour = open_store(url)
    neighbour.setup()
    two = SourceCoordinator(neighbour, "flights", "two")
    assert two.create_partitions(["k"]).created == 1
    assert one.get_next_partition() is not None
    says(SCHEMA_VERSION + 1, SCHEMA_VERSION + 1)
    with pytest.raises(SchemaVersionError, match=f"its schema {SCHEMA_VERSION + 1} is too new"):
        open_store(url).setup()
