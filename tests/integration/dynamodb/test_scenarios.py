"""The thirteen ways in which Data Prepper's rules lose or double work, on the vendor's own engine.

Ported to Python, those rules fail all thirteen. Each test is named after the promise that they break. Workers share a
host name here, as Airflow tasks of one worker do.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest

from airflow_coordination.leases import (
    Checkpoint,
    Metric,
    PartitionNotFoundError,
    PartitionNotOwnedError,
    PartitionStatus,
    ProgressStateError,
    SourceCoordinator,
)
from airflow_coordination.protocol.metrics import full_name
from airflow_coordination.stores.dynamodb.requests import MARGIN
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.status import Outcome
from airflow_coordination.values.times import SystemClock
from tests.faults.dynamodb_client import Fault, FaultyClient, at
from tests.integration.dynamodb.engine import Engine
from tests.integration.dynamodb.table import SOURCE, SharedTable, acquired, block, found, published

S = PartitionStatus
TIMEOUT = timedelta(minutes=10)


def counted(one: SourceCoordinator, metric: Metric) -> int:
    return one.metrics.counts.get(full_name(SOURCE, metric), 0)


def test_s2_a_zombies_completion_is_refused_and_the_owners_counts(shared: SharedTable, clock: FakeClock) -> None:
    zombie, owner = shared.coordinator(), shared.coordinator()
    zombie.create_partitions(["k"])
    old = acquired(zombie.get_next_partition())
    clock.advance(TIMEOUT)
    held = acquired(owner.get_next_partition())
    with pytest.raises(PartitionNotOwnedError) as refused:
        zombie.complete(old, [block("zombie")])
    assert refused.value.current == held.fence
    owner.complete(held, [block("owner")])
    assert published(owner) == {"k": ["owner"]}
    assert (counted(zombie, Metric.COMPLETED), counted(owner, Metric.COMPLETED)) == (0, 1)


def test_s2_a_zombies_checkpoint_does_not_rewind(shared: SharedTable, clock: FakeClock) -> None:
    zombie, owner = shared.coordinator(), shared.coordinator()
    zombie.create_partitions(["k"])
    old = zombie.save_progress_state(acquired(zombie.get_next_partition()), {"row": 5})
    clock.advance(TIMEOUT)
    held = owner.save_progress_state(acquired(owner.get_next_partition()), {"row": 900})
    with pytest.raises(PartitionNotOwnedError):
        zombie.save_progress_state(old, {"row": 10})
    with pytest.raises(PartitionNotOwnedError):
        zombie.renew(old)
    assert found(owner.partition("k")).progress_state == {"row": 900}
    owner.complete(held)


class Ahead(SystemClock):
    """A host whose time is eleven minutes ahead."""

    def now(self) -> datetime:
        return super().now() + timedelta(minutes=11)


def test_s8_a_worker_ahead_takes_no_lease_that_lasts(local: Engine, table: str) -> None:
    shared = SharedTable(local, table, clock=None)
    owner, ahead = shared.coordinator("owner"), shared.coordinator("ahead", clock=Ahead())
    owner.create_partitions(["k"])
    held = owner.renew(acquired(owner.get_next_partition()))
    assert ahead.sweep().total == 0
    assert ahead.get_next_partition() is None
    assert ahead.acquire_partition("k") is None
    owner.complete(held)


def test_c6_a_time_that_was_set_is_waited_for_with_the_margin_and_no_wait_at_all_is_none(
    local: Engine, table: str
) -> None:
    """C6, as documented: a failure without a wait is free at once, a close for no time after the margin."""
    one = SharedTable(local, table, clock=None).coordinator()
    one.create_partitions(["k"])
    one.fail(acquired(one.get_next_partition()), "broken", retry_after=timedelta(0))
    one.give_up(acquired(one.get_next_partition()))
    one.close(acquired(one.get_next_partition()), reopen_after=timedelta(0))
    assert one.get_next_partition() is None
    due = found(one.partition("k")).reopen_at
    while (lease := one.get_next_partition()) is None:
        pass
    assert due is not None
    assert one.store.now() >= due + MARGIN
    one.complete(lease)


def test_s6_an_acquisition_whose_answer_was_lost_is_ours(shared: SharedTable) -> None:
    faulty = FaultyClient(shared.engine.client, at({1: Fault.APPLIED}, "update_item"))
    one = shared.coordinator(client=faulty)
    one.create_partitions(["a", "b"])
    held = acquired(one.get_next_partition())
    assert [(p.key, p.fence) for p in one.partitions(S.ASSIGNED)] == [(held.key, held.fence)]
    one.complete(held)
    assert counted(one, Metric.ACQUIRED) == 1


def test_s6_a_completion_whose_answer_was_lost_is_one(shared: SharedTable) -> None:
    faulty = FaultyClient(shared.engine.client, at({2: Fault.APPLIED}, "update_item"))
    one = shared.coordinator(client=faulty)
    one.create_partitions(["k"])
    one.complete(acquired(one.get_next_partition()))
    assert found(one.partition("k")).status is S.COMPLETED
    assert counted(one, Metric.COMPLETED) == 1
    assert one.refusals == 0


def test_s10_a_paused_supplier_neither_resets_the_state_nor_frees_the_lease(
    shared: SharedTable, clock: FakeClock
) -> None:
    paused, other = shared.coordinator("paused", clock=FakeClock()), shared.coordinator("other")
    asleep, awake = threading.Event(), threading.Event()

    def stale(state: dict[str, Any]) -> Iterator[Any]:
        yield "100"
        asleep.set()
        assert awake.wait(20)
        yield Checkpoint({"cursor": 100})

    def newer(state: dict[str, Any]) -> Iterator[Any]:
        yield "200"
        yield Checkpoint({"cursor": 200})
        awake.set()
        with pytest.raises(PartitionNotOwnedError):
            pausing.result(20)
        assert other.supplying.global_state() == {"cursor": 200}
        yield "201"
        yield Checkpoint({"cursor": 201})

    with ThreadPoolExecutor(1) as pool:
        pausing = pool.submit(paused.run_supplier, stale)
        assert asleep.wait(20)
        clock.advance(TIMEOUT)
        assert other.run_supplier(newer).ran
    assert other.supplying.global_state() == {"cursor": 201}


def test_s14_corrupt_progress_is_an_error_and_stays(shared: SharedTable, clock: FakeClock) -> None:
    one = shared.coordinator()
    one.create_partitions(["k"])
    one.give_up(one.save_progress_state(acquired(one.get_next_partition()), {"row": 900}))
    shared.set("k", partitionProgressState={"S": '{"row": 9'})
    held = acquired(one.get_next_partition())
    with pytest.raises(ProgressStateError, match="progress"):
        _ = held.partition.progress_state
    one.fail(held, "its progress is corrupt")
    assert found(one.partition("k")).progress_text == '{"row": 9'


def test_s14_progress_that_is_no_json_keeps_the_last_one(shared: SharedTable) -> None:
    one = shared.coordinator()
    one.create_partitions(["k"])
    held = one.save_progress_state(acquired(one.get_next_partition()), {"row": 900})
    for bad in (object(), float("nan"), {1: 2}, None):
        with pytest.raises(ProgressStateError):
            one.save_progress_state(held, bad)
    assert found(one.partition("k")).progress_state == {"row": 900}
    one.complete(held)
    assert found(one.partition("k")).progress_state == {"row": 900}


def test_s14_progress_above_the_items_limit_costs_no_lease(shared: SharedTable, clock: FakeClock) -> None:
    one, other = shared.coordinator("one"), shared.coordinator("other")
    one.create_partitions(["k"])
    held = one.save_progress_state(acquired(one.get_next_partition()), "x" * (255 * 1024))
    with pytest.raises(ProgressStateError, match="the limit is 262144"):
        one.save_progress_state(held, "x" * (400 * 1024 + 1))
    clock.advance(TIMEOUT / 2)
    held = one.renew(held)
    clock.advance(TIMEOUT / 2)
    assert other.get_next_partition() is None
    one.complete(held)
    assert len(found(other.partition("k")).progress_state) == 255 * 1024


def test_s3_ttl_removes_what_is_completed_and_its_output_stays(local: Engine, table: str, clock: FakeClock) -> None:
    shared = SharedTable(local, table, clock, ttl=timedelta(days=7))
    one = shared.coordinator()

    def listing(state: dict[str, Any]) -> list[str]:
        return [] if state.get("listed") else [state.setdefault("listed", "k")]

    one.complete(acquired(one.get_next_partition(supplier=listing)), [block("b1")])
    assert int(shared.item("k")["expirationTime"]["N"]) == int((clock.now() + timedelta(days=7)).timestamp())
    clock.advance(timedelta(days=7))
    assert shared.expire() == ["k"]
    assert one.get_next_partition(supplier=listing) is None
    assert published(one) == {"k": ["b1"]}
    one.create_partitions(["k"])
    one.complete(acquired(one.get_next_partition()), [block("b2")])
    assert published(one) == {"k": ["b2"]}


def test_s3_without_ttl_nothing_is_ever_removed(shared: SharedTable) -> None:
    one = shared.coordinator()
    one.create_partitions(["k"])
    one.complete(acquired(one.get_next_partition()), [block("b1")])
    assert shared.expire() == []


def test_s4_ttl_removes_nothing_under_an_owner(local: Engine, table: str, clock: FakeClock) -> None:
    shared = SharedTable(local, table, clock, ttl=timedelta(days=7))
    one = shared.coordinator()
    one.create_partitions(["again", "closed", "failed", "given up", "held", "new", "parked"])
    one.complete(acquired(one.acquire_partition("again")))
    one.people.reset("again", by="ana", why="again")
    one.close(acquired(one.acquire_partition("closed")), TIMEOUT)
    one.fail(acquired(one.acquire_partition("failed")), "boom")
    one.give_up(acquired(one.acquire_partition("given up")))
    one.people.park("parked", by="ana", why="later")
    held = one.save_progress_state(acquired(one.acquire_partition("held")), "x" * 1000, [block("b1")])
    one.run_supplier(lambda state: state.update(cursor=1) or ["more"])
    assert shared.expire() == []
    one.complete(held)
    assert published(one) == {"held": ["b1"]}
    assert shared.expire() == ["held"]
    assert published(one) == {"held": ["b1"]}


def test_s1_a_zombie_of_a_deleted_partition_is_refused_in_its_next_life(shared: SharedTable) -> None:
    zombie, owner = shared.coordinator(), shared.coordinator()
    zombie.create_partitions(["k"])
    old = acquired(zombie.get_next_partition())
    owner.people.delete("k", by="ana", why="wrong range")
    assert owner.create_partitions(["k"]).created == 1
    held = acquired(owner.get_next_partition())
    assert held.fence.token > old.fence.token
    with pytest.raises(PartitionNotOwnedError) as refused:
        zombie.complete(old, [block("zombie")])
    assert refused.value.ending is not None
    assert refused.value.ending.outcome is Outcome.RELEASED
    owner.complete(held, [block("owner")])
    assert published(owner) == {"k": ["owner"]}


def test_s2_a_zombie_is_refused_when_even_the_tombstone_is_gone(shared: SharedTable, clock: FakeClock) -> None:
    zombie, owner = shared.coordinator(), shared.coordinator()
    zombie.create_partitions(["k"])
    old = acquired(zombie.get_next_partition())
    owner.people.delete("k", by="ana", why="wrong range")
    assert shared.expire() == ["k"]
    with pytest.raises(PartitionNotFoundError):
        zombie.renew(old)
    assert owner.create_partitions(["k"]).created == 1
    held = acquired(owner.get_next_partition())
    assert held.fence.token == old.fence.token
    clock.advance(TIMEOUT / 2)
    for call in (zombie.renew, zombie.complete):
        with pytest.raises(PartitionNotOwnedError):
            call(old)
    owner.complete(held)


def test_s7_a_close_whose_answer_was_lost_is_one(shared: SharedTable) -> None:
    faulty = FaultyClient(shared.engine.client, at({2: Fault.APPLIED, 3: Fault.APPLIED}, "update_item"))
    one = shared.coordinator(client=faulty)
    one.create_partitions(["k"])
    one.close(acquired(one.get_next_partition()), TIMEOUT)
    closed = found(one.partition("k"))
    assert (closed.status, closed.closed_count) == (S.CLOSED, 1)
    assert counted(one, Metric.CLOSED) == 1
    assert one.refusals == 0
