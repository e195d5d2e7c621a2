"""The endings before a long tenure lie beside its partition, and none of them is ever missed (decision 76)."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases import Lease, PartitionIdentifier
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.partitions import AGAIN_AFTER, ASIDE, FIRST_AT, KEPT_FOR
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Crash
from airflow_coordination.values.fence import Ending, Fence
from airflow_coordination.values.status import Outcome
from tests.faults.dynamodb_client import Fault, FaultyClient, at
from tests.integration.dynamodb.engine import Engine
from tests.integration.dynamodb.table import SharedTable, acquired, found

UNHEARD = [Fault.APPLIED, Fault.NOT_APPLIED, Fault.APPLIED_LATE, Fault.INTERNAL_ERROR]
REFUSED = [Fault.UNREACHABLE, Fault.THROTTLED, Fault.CONFLICT, Fault.UNAVAILABLE]
KILLED = [Fault.CRASH_BEFORE, Fault.CRASH_AFTER]
PUT_ASIDE, SHORTEN = FIRST_AT + 1, FIRST_AT + 2
"""Which update it is, counted from the first renewal on."""


class Owner:
    """A process that works on partition "k"."""

    def __init__(self, shared: SharedTable, clock: FakeClock, task: str = "one") -> None:
        self.client = FaultyClient(shared.engine.client)
        self.c, self._clock = shared.coordinator(task, client=self.client), clock

    def close(self, times: int) -> None:
        """Hold it so often for a moment."""
        for _ in range(times):
            self.c.close(self.acquire(), timedelta(0))
            self._clock.advance(1)

    def acquire(self) -> Lease:
        """Hold it."""
        return acquired(self.c.acquire_partition("k"))

    def renew(self, lease: Lease, times: int = FIRST_AT) -> None:
        """Hold it for longer, so often."""
        for _ in range(times):
            self._clock.advance(30)
            self.c.renew(lease)

    def meets(self, fault: Fault, *updates: int) -> None:
        """Meet a fault at these updates from now on."""
        self.client.plan = at(dict.fromkeys(updates, fault), "update_item")


@pytest.fixture
def shared(engine: Engine, table: str, clock: FakeClock) -> SharedTable:
    """A table on DynamoDB Local, then on moto, on which the mutants are tried."""
    return SharedTable(engine, table, clock)


@pytest.fixture
def one(shared: SharedTable, clock: FakeClock) -> Owner:
    """The owner of a partition that has had eight tenures."""
    owner = Owner(shared, clock)
    owner.c.create_partitions(["k"])
    owner.close(8)
    return owner


def endings(shared: SharedTable) -> tuple[Ending, ...]:
    return found(shared.coordinator("looks").partition("k")).endings


def ring(shared: SharedTable) -> set[str]:
    return set(shared.item("k")) & set(it.RING)


def beside(shared: SharedTable) -> list[dict[str, Any]]:
    return [item for item in shared.items() if item["sourceIdentifier"]["S"].endswith("LARGE")]


def test_they_move_with_the_third_renewal_and_are_found(shared: SharedTable, one: Owner, clock: FakeClock) -> None:
    before, lease = endings(shared), one.acquire()
    assert len(before) == 8
    one.renew(lease, FIRST_AT - 1)
    assert (len(ring(shared)), beside(shared)) == (8, [])
    one.renew(lease, 1)
    [aside] = beside(shared)
    assert (ring(shared), set(aside) & set(it.RING)) == (set(), set(it.RING))
    until = int((clock.now() + KEPT_FOR).timestamp())
    assert abs(int(aside[it.EXPIRATION]["N"]) - until) <= 1
    assert endings(shared) == before
    one.c.close(lease, timedelta(0))
    assert len(ring(shared)) == 1
    assert [ending.fence.token for ending in endings(shared)] == list(range(2, 10))


def test_they_move_again_and_the_newest_eight_stay(shared: SharedTable, one: Owner) -> None:
    for _ in range(3):
        one.renew(lease := one.acquire())
        one.c.close(lease, timedelta(0))
        one.close(4)
    assert [ending.fence.token for ending in endings(shared)] == list(range(16, 24))
    one.renew(one.acquire())
    assert [ending.fence.token for ending in endings(shared)] == list(range(16, 24))


def test_they_stay_where_that_would_make_nothing_cheaper(shared: SharedTable, clock: FakeClock) -> None:
    few, large = Owner(shared, clock), shared.coordinator("large", source="large")
    few.c.create_partitions(["k"])
    few.close(2)
    few.renew(few.acquire(), 2 * AGAIN_AFTER)
    large.create_partitions([PartitionIdentifier("k", {"": "x" * 1500})])
    large.close(acquired(large.acquire_partition("k")), timedelta(0))
    clock.advance(1)
    lease = acquired(large.acquire_partition("k"))
    for _ in range(FIRST_AT):
        clock.advance(30)
        large.renew(lease)
    assert beside(shared) == []


@pytest.mark.parametrize("update", [PUT_ASIDE, SHORTEN])
@pytest.mark.parametrize("fault", UNHEARD + REFUSED + KILLED, ids=lambda fault: fault.name)
def test_whatever_happens_to_either_request_none_is_missed(
    shared: SharedTable, one: Owner, fault: Fault, update: int
) -> None:
    before, lease = endings(shared), one.acquire()
    one.meets(fault, update)
    with suppress(Crash):
        one.renew(lease)
    assert endings(shared) == before
    one.client.deliver()
    assert endings(shared) == before
    if fault not in KILLED:
        one.renew(lease, AGAIN_AFTER)  # tried once more where it has failed
        assert (endings(shared), ring(shared)) == (before, set())
        one.c.complete(lease)
        assert len(endings(shared)) == 8
        assert endings(shared)[-1].outcome is Outcome.COMPLETED


@pytest.mark.parametrize("update", [PUT_ASIDE, SHORTEN])
@pytest.mark.parametrize("tenures", [1, 2, 9])
def test_a_request_that_comes_tenures_later_changes_nothing(
    shared: SharedTable, one: Owner, clock: FakeClock, update: int, tenures: int
) -> None:
    lease = one.acquire()
    one.meets(Fault.APPLIED_LATE, update)
    one.renew(lease)
    other = Owner(shared, clock, "other")
    clock.advance(700)  # and the owner of the late request sleeps
    for _ in range(tenures):
        other.renew(held := other.acquire())
        other.c.close(held, timedelta(0))
        clock.advance(1)
    before = endings(shared)
    one.client.deliver()
    assert endings(shared) == before
    assert [ending.fence.token for ending in before] == list(range(tenures + 2, tenures + 10))


@pytest.mark.parametrize("later", [0, 1, 7])
def test_s6_an_owner_learns_of_its_ending_though_that_lies_beside(
    shared: SharedTable, one: Owner, clock: FakeClock, later: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer was lost, and the write is sent again when others have held the partition, and hold it."""
    sent: list[Any] = []
    write = one.c.store.write
    monkeypatch.setattr(one.c.store, "write", lambda what: (sent.append(what), write(what))[1])
    one.c.close(one.acquire(), timedelta(0))
    [end] = sent
    clock.advance(1)
    one.close(later)
    one.renew(one.acquire())
    assert ring(shared) == set()
    again = write(end)
    assert not again.applied
    ending = found(again.partition).ending_of(end.fence)
    assert ending is not None
    assert ending.op == end.op


@pytest.mark.parametrize("parents", [(), ("p",)])
def test_a_tombstone_gives_its_endings_to_who_is_made_in_its_place(
    shared: SharedTable, one: Owner, parents: tuple[str, ...]
) -> None:
    one.renew(lease := one.acquire())
    one.c.close(lease, timedelta(0))
    before = endings(shared)
    one.c.people.delete("k", by="ana", why="a test")
    one.c.create_partitions(["p", PartitionIdentifier("k", parents=parents)])
    assert endings(shared) == before
    assert ASIDE not in shared.item("k")


def test_ttl_takes_what_nobody_asks_for_any_more(shared: SharedTable, one: Owner) -> None:
    one.renew(lease := one.acquire())
    one.c.close(lease, timedelta(0))
    [gone] = shared.expire()
    assert gone.endswith("endings")
    [left] = endings(shared)
    assert left.fence == lease.fence
    one.renew(lease := one.acquire())
    one.c.complete(lease)
    assert len(endings(shared)) == 2


def test_a_new_life_with_smaller_tokens_keeps_its_own(shared: SharedTable, one: Owner) -> None:
    """The tombstone has gone by TTL, so that tokens begin anew, and what lies beside is of the life before."""
    one.renew(lease := one.acquire())
    one.c.close(lease, timedelta(0))
    where = {name: shared.item("k")[name] for name in (it.SOURCE, it.KEY)}
    shared.engine.client.delete_item(TableName=shared.table, Key=where)
    one.c.create_partitions(["k"])
    one.close(8)
    before = endings(shared)
    one.renew(one.acquire())
    assert endings(shared) == before
    assert [ending.fence.token for ending in before] == list(range(1, 9))
    assert before[0].fence != Fence(1, lease.fence.nonce)
