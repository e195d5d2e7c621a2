"""Promise S16 for schema 10: workers of the version before go on beside it, and what each makes of the other's work."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases import (
    Block,
    Fence,
    HandOver,
    Lease,
    Owner,
    PartitionIdentifier,
    PartitionNotOwnedError,
    PartitionStatus,
    Place,
    SchemaVersionError,
    Settings,
    SourceCoordinator,
)
from airflow_coordination.outputs.manifests import DataFile, Manifest
from airflow_coordination.protocol.writes import Action
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.schema import SCHEMA_VERSION
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.failing import BRAKE
from airflow_coordination.values.hints import decode_hint
from tests.integration.upgrade.conftest import Starts
from tests.integration.upgrade.old_worker import Old, OldCodeRefused

pytestmark = pytest.mark.slow

LEASE = timedelta(hours=1)
NOW = timedelta(0)
OWNER = Owner.of_task("new", "dag", "run", "other", 0, 1, Place("production", "5f0c1d2e", "4711.88")).text
SOURCE = "flights|PARTITION"
NOTE = json.dumps({"delete": ["s3://bucket/k"]})


def worker(url: str, owner: str = OWNER, clock: FakeClock | None = None, **limits: Any) -> SourceCoordinator:
    """Return a worker of today on the store."""
    settings = Settings(ownership_timeout=LEASE, max_lost_leases=7, max_failures=9, **limits)
    return SourceCoordinator(open_store(url, clock=clock), "flights", owner, settings=settings)


def ahead(url: str, hours: int, **limits: Any) -> SourceCoordinator:
    """Return a worker of today by whose clock it is so many hours later: after two of them every lease has ended."""
    return worker(url, clock=FakeClock(open_store(url).now() + timedelta(hours=hours)), **limits)


def held(one: SourceCoordinator, key: str) -> Lease:
    """Let a worker of today acquire a partition."""
    lease = one.acquire_partition(key)
    assert lease is not None
    return lease


def block(name: str) -> Block:
    return Block("clean", f"/out/{name}", name, 1, 10)


@pytest.fixture
def one(url: str, before: Starts) -> SourceCoordinator:
    """A worker of today on a store that the version before has set up, migrated."""
    before(url).does("setup")
    return migrated(url)


@pytest.fixture
def old(one: SourceCoordinator, url: str, before: Starts) -> Old:
    """A worker of the version before on the same store."""
    return before(url)


def migrated(url: str) -> SourceCoordinator:
    open_store(url).setup()
    return worker(url)


def test_s16_a_store_of_the_version_before_is_migrated_while_it_works(url: str, before: Starts) -> None:
    """What has looked once goes on, what starts later may, and told to migrate it leaves the store as it is."""
    early = before(url)
    early.does("setup")
    assert early.does("create", "a", "b") == 2
    early.does("acquire", "a")
    if not url.startswith("dynamodb"):  # a table needs no change for it
        with pytest.raises(SchemaVersionError, match=f"schema 9 is too old .* needs {SCHEMA_VERSION}"):
            worker(url).partition("a")
    one = migrated(url)
    late = before(url)
    late.does("setup")
    assert open_store(url).store_id == one.store.store_id
    early.does("complete", "a", "a.last")
    assert late.does("drain") == ["b"]
    assert [status_of(one, key) for key in ("a", "b")] == [PartitionStatus.COMPLETED] * 2


def test_s16_the_version_before_works_on_a_store_that_this_one_has_made(url: str, before: Starts) -> None:
    one, old = migrated(url), before(url)
    one.create_partitions(["a"])
    assert old.does("create", "a", "b") == 1
    assert sorted(old.does("drain")) == ["a", "b"]


def test_s16_saved_work_goes_on_whichever_code_takes_it_over(one: SourceCoordinator, old: Old, url: str) -> None:
    """S2, S12: acquired, renewed, saved, lost, reclaimed, refused, completed: by the one, by the other, by the one."""
    old.does("create", "k")
    assert old.does("acquire", "k").startswith("1-")
    old.does("save", "k", {"at": 1}, "k.1")
    old.does("renew", "k")
    one = ahead(url, 2)
    assert one.sweep().reclaimed == 1
    lease = held(ahead(url, 3), "k")
    assert (lease.fence.token, lease.partition.progress_state, lease.partition.lost_leases) == (2, {"at": 1}, 1)
    for write in (("save", "k", {"at": 0}, "k.late"), ("renew", "k"), ("complete", "k")):
        with pytest.raises(OldCodeRefused, match="PartitionNotOwnedError"):
            old.does(*write)
    lease = one.renew(one.save_progress_state(lease, {"at": 2}, [block("k.2")]))
    old.does("ahead", 5)
    assert old.does("sweep") == [1, 0]
    old.does("ahead", 6)
    assert old.does("acquire", "k").startswith("3-")
    with pytest.raises(PartitionNotOwnedError):
        one.complete(lease)
    seen = old.does("partition", "k")
    assert (seen["progress_state"], seen["lost_leases"], seen["owner"]) == ({"at": 2}, 2, "old/dag/run/task/0/1")
    old.does("complete", "k", "k.3")
    [head] = one.store.heads(SOURCE, key="k")
    assert [each.digest for each in head.blocks] == old.does("heads", "k") == ["k.1", "k.2", "k.3"]
    assert [tenure.outcome.value for tenure in one.history("k")] == old.does("history", "k")


def test_s16_each_ending_means_the_same_to_both(one: SourceCoordinator, old: Old, url: str) -> None:
    """S7: closed, failed and given up, each counted once, and due for the other when its time has come."""
    one.create_partitions(["k"])
    for hours, ending in enumerate((("close", "k", [1]), ("fail", "k", "broken"), ("give_up", "k"))):
        old.does("ahead", hours)
        assert old.does("acquire", "k").startswith(f"{hours + 1}-")
        old.does(*ending)
    found = seen(one, "k")
    assert (found.closed_count, found.failures, found.last_error, found.progress_state) == (1, 1, "broken", [1])
    closer, breaker = ahead(url, 3), ahead(url, 5)
    closer.close(held(closer, "k"), NOW, [2])
    old.does("ahead", 4)
    assert old.does("acquire", "k").startswith("5-")
    old.does("give_up", "k")
    breaker.fail(held(breaker, "k"), "broken again", retry_after=NOW)
    old.does("ahead", 6)
    assert old.does("acquire", "k").startswith("7-")
    told = old.does("partition", "k")
    assert (told["closed_count"], told["failures"], told["progress_state"]) == (2, 1, [2])


def test_what_the_version_before_publishes_keeps_on_sql_the_interval_that_was_there(
    one: SourceCoordinator, old: Old, url: str
) -> None:
    """It leaves the columns alone, and on DynamoDB writes the item anew; the next publication says what is right."""
    one.create_partitions(["k"])
    one.complete(held(one, "k"), [block("new")], interval="2013-01/P1M")
    [said] = one.store.heads(SOURCE)
    old.does("reset", "k")
    old.does("acquire", "k")
    old.does("complete", "k", "old")
    [head] = one.store.heads(SOURCE)
    assert [each.digest for each in head.blocks] == ["old"]
    there = None if url.startswith("dynamodb") else said.interval_start
    assert head.interval_start == there
    assert (head.interval_end is None) is (there is None)
    one.people.reset("k", "bob", "again")
    one.complete(held(one, "k"), [block("newest")])
    [head] = one.store.heads(SOURCE)
    assert (head.interval_start, head.interval_end) == (None, None)


def test_s18_hints_of_either_are_followed_by_the_other(one: SourceCoordinator, old: Old) -> None:
    one.create_partitions(["a", "b"])
    hints = {decode_hint(hint, one.store.store_id).key: hint for hint in one.claimable()}
    assert sorted(old.does("hints")) == sorted(hints.values())
    assert old.does("hinted", hints["b"]) == "b"
    [hint] = old.does("hints")
    lease = one.get_next_partition(hint=hint)
    assert lease is not None
    assert lease.key == "a"


def test_x12_a_pause_of_either_holds_the_other_back(one: SourceCoordinator, old: Old, url: str) -> None:
    one.create_partitions(["k"])
    old.does("pause")
    assert (one.pausing.current_pause().paused, one.pausing.current_pause().by) == (True, "ana")
    assert worker(url).get_next_partition() is None
    one.pausing.resume("bob", "mended")
    assert old.does("paused") == [False, "bob"]
    one.pausing.pause("bob", "again")
    assert old.does("paused") == [True, "bob"]
    old.does("resume")
    assert worker(url).get_next_partition() is not None
    done = ["pause by ana", "pause by bob", "resume by ana", "resume by bob"]  # on DynamoDB in an order of seconds
    assert (
        sorted(f"{each['action']} by {each['by']}" for each in one.pausing.pauses())
        == sorted(old.does("actions"))
        == done
    )


def test_the_version_before_leaves_a_line_of_the_audit_in_no_batch(one: SourceCoordinator, old: Old) -> None:
    one.create_partitions(["a", "b", "c"])
    for key in ("a", "b"):
        one.people.act(Action.PARK, key, "ana", "bad", batch="of two")
    old.does("reset", "a")
    assert old.does("partition", "a")["status"] == "UNASSIGNED"
    one.store.setup()  # DynamoDB lists by time what code of before has audited
    lines = one.looking.actions()
    assert {(line["key"], line["action"]): line["batch"] for line in lines} == {
        ("a", "park"): "of two", ("b", "park"): "of two", ("a", "reset"): None,
    }  # fmt: skip


def test_x12_the_version_before_knows_of_no_end(one: SourceCoordinator, old: Old, url: str) -> None:
    """It holds back also when the pause has ended, until somebody resumes; what it pauses itself has no end."""
    one.create_partitions(["a", "b", "c"])
    one.pausing.pause("watch", "half are gone", lasts=timedelta(milliseconds=1))
    while not one.pausing.current_pause().over:
        pass
    assert old.does("paused") == [True, "watch"]
    assert old.does("acquire") is None
    new = worker(url)
    while new.get_next_partition() is None:  # on DynamoDB a process knows the store's time by two seconds
        pass
    one.pausing.resume("ana", "older code works here")
    assert old.does("acquire") is not None
    one.pausing.pause("watch", "half are gone", lasts=timedelta(milliseconds=1))
    old.does("resume")
    assert one.pausing.current_pause().until is None
    old.does("pause")
    assert one.pausing.current_pause().unending, "the end of the pause before is not that of this one"
    assert worker(url).get_next_partition() is None


def test_x13_the_version_before_counts_nothing_and_obeys_the_brake(
    one: SourceCoordinator, old: Old, url: str, before: Starts
) -> None:
    """Its failures and its successes count for nothing; a source that paused itself is paused for it, too."""
    one.create_partitions(["a", "b", "c", "d", "e"])
    for hours in (0, 1, 2):  # one partition, which DynamoDB counts when everybody has heard that something fails
        fails(ahead(url, hours, brake_after=2), "a")
    for key in ("b", "c"):
        old.does("acquire", key)
    old.does("fail", "b", "no such table")
    old.does("complete", "c")
    assert failing(one) == (False, 1)
    assert old.does("paused")[0] is False
    fails(ahead(url, 3, brake_after=2), "d")
    assert one.pausing.current_pause().braked
    late = before(url)
    assert late.does("paused") == [True, BRAKE]
    assert late.does("acquire") is None
    late.does("resume")
    assert failing(one)[0] is False
    fails(ahead(url, 4, brake_after=2), "e")
    assert failing(one)[0] is False


def test_x12_the_version_before_pauses_where_something_has_failed(one: SourceCoordinator, old: Old, url: str) -> None:
    """On DynamoDB it finds an item that nobody has paused, which it has never written."""
    one.create_partitions(["a", "b"])
    fails(one, "a")
    old.does("pause")
    assert failing(one)[0] is True
    assert worker(url).get_next_partition() is None
    assert old.does("actions") == ["pause by ana"]


def fails(one: SourceCoordinator, key: str) -> None:
    """Let a worker of today fail a partition of the error that all have."""
    one.fail(held(one, key), "no such table", retry_after=NOW)


def failing(one: SourceCoordinator) -> tuple[bool, int | None]:
    """Return whether the source is paused, and how many partitions have failed of one error."""
    pause = one.pausing.current_pause()
    return pause.paused, pause.failing and pause.failing.number


def test_s27_notes_of_either_are_read_and_cleared_by_the_other(one: SourceCoordinator, old: Old) -> None:
    one.create_partitions(["a", "b"])
    one.complete(held(one, "a"), then=NOTE)
    old.does("acquire", "b")
    old.does("note", "b", NOTE)
    assert [(note.key, note.text) for note in one.follow_ups.follow_ups()] == [("a", NOTE), ("b", NOTE)]
    assert old.does("follow_ups") == [["a", NOTE], ["b", NOTE]]
    old.does("clear")
    assert list(one.follow_ups.follow_ups()) == []


def test_s19_s20_parents_of_either_are_waited_for_and_release_at_once(one: SourceCoordinator, old: Old) -> None:
    one.create_partitions(["p", "q", PartitionIdentifier("of p", parents=["p"])])
    old.does("child", "of q", "q")
    assert [one.acquire_partition(key) for key in ("of p", "of q")] == [None, None]
    assert [old.does("acquire", key) for key in ("of p", "of q")] == [None, None]
    old.does("acquire", "p")
    old.does("complete", "p")
    one.complete(held(one, "q"))
    assert old.does("acquire", "of q") is not None
    assert one.acquire_partition("of p") is not None


def test_s28_a_lease_is_asked_for_handed_over_and_stolen_across_versions(
    one: SourceCoordinator, old: Old, url: str
) -> None:
    one.create_partitions(["a", "b"])
    old.does("acquire", "a")
    assert one.workers.ask(seen(one, "a"), LEASE)
    assert old.does("wanted", "a")
    assert one.workers.steal(seen(one, "a")) is None
    old.does("hand_over", "a")
    assert one.acquire_partition("a") is not None
    lease = held(one, "b")
    assert old.does("ask", "b")
    lease = one.renew(lease)
    assert lease.wanted
    assert seen(one, "b").wanted == "old/dag/run/task/0/1"
    assert old.does("steal", "b").startswith("2-")
    with pytest.raises(PartitionNotOwnedError):
        one.renew(lease)


def test_e6_a_task_goes_on_whichever_version_runs_its_tries(one: SourceCoordinator, old: Old, url: str) -> None:
    """E6: an owner of today names its Airflow in its first part; the version before reads its task all the same."""
    one.create_partitions(["k"])
    tries = {
        number: Owner.of_task("new;host", "dag", "run", "task", 0, number, Place("production")).text
        for number in (1, 3)
    }
    held(worker(url, tries[1]), "k")
    assert old.does("partition", "k")["owner"] == tries[1]
    assert old.does("retake", "k", "old/dag/run/task/1/2") is None
    assert old.does("retake", "k", "old/dag/run/task/0/2").startswith("2-")
    third = worker(url, tries[3]).tries.retake("k")
    assert third is not None
    assert third.fence.token == 3


def test_x13_a_driver_of_the_version_before_takes_a_hand_over_that_names_no_brake(
    sqlite_url: str, before: Starts
) -> None:
    """What it does not know goes along only where somebody has said something; it refuses that, and names it."""
    given = {"source": "s", "partition_prefix": None, "key": "k", "fence": Fence(1, "n"), "store_id": "i"}
    usual, braked = (HandOver(**given, owner=OWNER, settings=each) for each in (Settings(), Settings(brake_after=3)))
    old = before(sqlite_url)
    assert old.does("handed", usual.to_json()) == f"k of {OWNER}"
    with pytest.raises(OldCodeRefused, match=r"SettingsError.*brake_after"):
        old.does("handed", braked.to_json())


def test_manifests_of_either_are_read_by_the_other_but_for_a_zone(sqlite_url: str, before: Starts) -> None:
    """Version 3 has the zone of local times, which the version before would show as other times: it refuses it."""
    old = before(sqlite_url)
    schema = json.dumps({"type": "struct", "fields": []})
    plain, told, zoned = (manifest(**more) for more in ({}, {"schema": schema}, {"schema": schema, "zone": "UTC"}))
    for each, its in ((plain, None), (told, schema)):
        assert old.does("manifest", each.to_bytes().decode()) == ["a.parquet"]
        assert old.does("manifest_of", its) == each.to_bytes().decode()
        assert Manifest.from_bytes(old.does("manifest_of", its).encode(), each.address) == each
    with pytest.raises(OldCodeRefused, match=r"OutputError.*was written by newer code.*Update this package"):
        old.does("manifest", zoned.to_bytes().decode())


def manifest(**more: Any) -> Manifest:
    """Return a manifest of today, as ``old_calls.py`` makes one of before."""
    files = (DataFile("a.parquet", 10, 1),)
    return Manifest(
        source=SOURCE, key="k", dataset="clean", fence="1-a", directory="/out/block", files=files, rows=1, **more
    )


def seen(one: SourceCoordinator, key: str) -> Any:
    found = one.partition(key)
    assert found is not None
    return found


def status_of(one: SourceCoordinator, key: str) -> PartitionStatus:
    return PartitionStatus(seen(one, key).status)
