"""Promise S16 for schema 7: workers of before go on beside families; they start no child, and release none."""

from __future__ import annotations

import pytest

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.leases.cleaning import CleanedUp
from airflow_coordination.stores import open_store
from tests.integration.upgrade.conftest import Starts
from tests.integration.upgrade.old_worker import OldCodeRefused

pytestmark = pytest.mark.slow


def test_s19_s20_older_code_starts_no_child_and_what_it_completes_is_swept(migrated_url: str, first: Starts) -> None:
    one = SourceCoordinator(open_store(migrated_url), "flights", "new/dag/run/task/0/1")
    one.create_partitions(["p", "q", PartitionIdentifier("c", parents=["p", "q"])])
    old = first(migrated_url)
    assert sorted(old.does("drain")) == ["p", "q"]
    waiting = one.partition("c")
    assert waiting is not None
    assert waiting.waits_for == ("p", "q")
    assert one.get_next_partition() is None
    for _ in range(3):  # on DynamoDB one parent of each child at a time
        one.sweep()
    assert one.looking.outlook().blocked == 0
    assert old.does("drain") == ["c"]


def test_s20_what_older_code_has_completed_is_not_cleaned_up(migrated_url: str, first: Starts) -> None:
    """It has released nobody: a sweep does, which looks for a parent that has completed."""
    one = SourceCoordinator(open_store(migrated_url), "flights", "new/dag/run/task/0/1")
    one.create_partitions(["p", PartitionIdentifier("c", parents=["p"])])
    assert first(migrated_url).does("drain") == ["p"]
    assert one.cleaning.clean_up(gone=["p"]) == CleanedUp()
    one.sweep()
    assert one.cleaning.clean_up(gone=["p"]).keys == ("p",)
    assert one.acquire_partition("c") is not None


def test_s19_older_code_resets_nothing_into_a_start(sqlite_url: str, first: Starts) -> None:
    """On SQL the table's own check refuses it."""
    store = open_store(sqlite_url)
    store.setup()
    one = SourceCoordinator(store, "flights", "new/dag/run/task/0/1")
    one.create_partitions(["p", PartitionIdentifier("c", parents=["p"])])
    with pytest.raises(OldCodeRefused, match="CHECK constraint failed"):
        first(sqlite_url).does("reset", "c")
    assert one.acquire_partition("c") is None
