"""Names that begin with ``~`` are kept by this package; what groups have merged is not taken back by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from airflow_coordination.delivery.routing import Publish
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs import Attempt
from airflow_coordination.protocol.writes import Action
from airflow_coordination.stores import open_store
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidKeyError

MERGED = "~merged/flights"


def coordinator(source: str) -> SourceCoordinator:
    return SourceCoordinator(open_store("memory://"), source, "a test")


@pytest.mark.parametrize("source", ["~flights", "~", "~merge/x"])
def test_a_source_of_a_user_does_not_begin_so(source: str) -> None:
    with pytest.raises(InvalidKeyError, match=r"source='~.*begins with ~, and is none of ~merged/.* Leave out the ~"):
        coordinator(source).create_partitions(["a"])


@pytest.mark.parametrize("source", ["~flights", MERGED, "~duties"])
def test_a_source_that_begins_so_has_no_supplier(source: str) -> None:
    with pytest.raises(InvalidKeyError, match="begins with ~, as the names of what this package itself keeps"):
        coordinator(source).run_supplier(lambda state: ["a"])


@pytest.mark.parametrize("source", [MERGED, "~duties", "~copies/flights", "flights~", "a/~b"])
def test_what_is_kept_there_is_created_and_other_names_are_free(source: str) -> None:
    assert coordinator(source).create_partitions(["~a"]).created == 1


def test_a_dataset_does_not_begin_so(tmp_path) -> None:
    one = coordinator("flights")
    one.create_partitions(["a"])
    lease = one.acquire_partition("a")
    attempt = Attempt(str(tmp_path), lease.partition.source, "a", lease.fence, one.store.store_id)
    with pytest.raises(InvalidKeyError, match="dataset='~1~clean': begins with ~"):
        attempt.open("~1~clean")
    with pytest.raises(InvalidKeyError, match="dataset='~1~clean': begins with ~"):
        Publish("~1~clean")


def merged_group() -> SourceCoordinator:
    groups = coordinator(MERGED)
    groups.create_partitions(["g"])
    groups.complete(groups.acquire_partition("g"), [Block("clean", "file:///out/manifest", "digest", rows=3, bytes=9)])
    return groups


@pytest.mark.parametrize("action", [Action.RETRACT, Action.DELETE, Action.CLEAN_UP])
def test_what_a_group_has_merged_is_not_taken_back_by_hand(action: Action) -> None:
    groups = merged_group()
    before = groups.partition("g")
    refused = r"nowhere else.*Use `compaction off flights`.*or reset"
    with pytest.raises(PartitionUpdateError, match=refused):
        groups.people.act(action, "g", "ana", "because")
    with pytest.raises(PartitionUpdateError, match=refused):
        groups.people.check_action(action, before)
    assert groups.partition("g") == before


def test_what_a_group_has_merged_is_not_forgotten_with_age() -> None:
    groups = merged_group()
    later = datetime.now(UTC) + timedelta(days=1)
    with pytest.raises(PartitionUpdateError, match="Cannot delete: readers may find"):
        groups.cleaning.purge(later, "ana", "old")
    assert groups.partition("g")


def test_a_group_is_reset_by_hand_and_given_up_as_a_whole_by_compaction() -> None:
    groups = merged_group()
    groups.people.reset("g", "ana", "again")
    groups.complete(groups.acquire_partition("g"))
    gone = groups.people.give_up_group("g", "ana", "off")
    assert gone.deleted
    [head] = groups.store.heads(gone.source)
    assert head.blocks == ()
