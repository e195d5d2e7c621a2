"""What an SQL store's update looks at itself, whatever its search has found; and that no search waits for a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest

from airflow_coordination.protocol.partition import Partition, PartitionIdentifier
from airflow_coordination.protocol.results import Swept
from airflow_coordination.protocol.writes import AcquireNext, Action
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql import postgres_store
from airflow_coordination.stores.sql.statements import acquire, writes
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.fixtures import MAX_LOST, MINUTE, Workbench
from airflow_coordination.values.status import PartitionStatus


@pytest.fixture(params=["sqlite_url", pytest.param("postgres_store_url", marks=pytest.mark.postgres)])
def bench(request: pytest.FixtureRequest) -> Iterator[Workbench]:
    clock = FakeClock()
    store = open_store(request.getfixturevalue(request.param), clock=clock)
    store.setup()
    yield Workbench(store, clock)
    store.close()


def _healthy(bench: Workbench) -> None:
    """Hold a lease that is renewed, so that only the time in the index has passed."""
    held = bench.new("wrong")
    bench.clock.advance(4 * MINUTE)
    bench.renew(held)
    bench.clock.advance(7 * MINUTE)


def _at_its_last_lost_lease(bench: Workbench) -> None:
    bench.create("wrong")
    for _ in range(MAX_LOST):
        bench.begin(bench.acquire("wrong"))
        bench.expire()


def _closed(bench: Workbench) -> None:
    bench.close(bench.new("wrong"))


def _delayed(bench: Workbench) -> None:
    bench.give_up(bench.new("wrong"), MINUTE)


def _completed(bench: Workbench) -> None:
    bench.complete(bench.new("wrong"))


def _parked(bench: Workbench) -> None:
    bench.fail(bench.new("wrong"), delay=None)


def _deleted(bench: Workbench) -> None:
    bench.create("wrong")
    bench.act(Action.DELETE, "wrong")


NOT_CLAIMABLE: list[Callable[[Workbench], None]] = [
    _healthy,
    _at_its_last_lost_lease,
    _closed,
    _delayed,
    _completed,
    _parked,
    _deleted,
]
NOT_DUE: list[Callable[[Workbench], None]] = [_healthy, _closed, _delayed, _completed, _parked, _deleted]


@pytest.fixture
def erring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every search find the partition "wrong"."""
    for statements in (acquire, postgres_store):
        for search in ("first_claimable", "first_if_fresh"):
            monkeypatch.setattr(statements, search, lambda *_, **__: "(SELECT 'wrong')")
    monkeypatch.setattr(writes, "found", lambda *_: "IN ('wrong')")


@pytest.mark.usefixtures("erring")
@pytest.mark.parametrize("lead", NOT_CLAIMABLE)
@pytest.mark.parametrize("how", ["order", "key", "hint", "fused", "fused, and it may miss"])
def test_e17_an_acquisition_takes_nothing_that_is_not_claimable(
    bench: Workbench, lead: Callable[[Workbench], None], how: str
) -> None:
    """E17: two broken searches took a healthy lease, and one at its last lost lease."""
    lead(bench)
    before = bench.get("wrong")
    bench.create("done")
    fused = AcquireNext(source=bench.source, tenancy=bench.tenancy(), may_miss="miss" in how)

    def following() -> Partition | None:
        return bench.store.complete_and_acquire(bench.completing(bench.acquire("done")), fused).next

    taken: dict[str, Callable[[], object]] = {
        "order": bench.next,
        "key": lambda: bench.next("wrong"),
        "hint": lambda: bench.hinted("wrong", before.token).applied or None,
        "fused": following,
        "fused, and it may miss": following,
    }
    assert taken[how]() is None
    assert bench.get("wrong") == before


@pytest.mark.usefixtures("erring")
@pytest.mark.parametrize("lead", NOT_DUE)
def test_e17_a_sweep_ends_nothing_that_is_not_due(bench: Workbench, lead: Callable[[Workbench], None]) -> None:
    """E17: the same of a sweep, which queues nothing either that is not due."""
    lead(bench)
    before = bench.get("wrong")
    assert bench.sweep() == Swept()
    assert bench.get("wrong") == before
    assert bench.next() is None


@pytest.fixture
def served(postgres_store_url: str) -> Iterator[Workbench]:
    """A store on PostgreSQL in which a statement that waits for a row fails after a second."""
    clock = FakeClock()
    store = open_store(f"{postgres_store_url}?statement_timeout=1", clock=clock)
    yield Workbench(store, clock)
    store.close()


@contextmanager
def busy(url: str, *keys: str) -> Iterator[None]:
    """Hold the rows of some partitions, as a statement does that is about to change them."""
    with psycopg.connect(url.replace("+psycopg", "")) as elsewhere:
        found = elsewhere.execute(
            "SELECT 1 FROM coordination_partitions WHERE source_partition_key = ANY (%s) FOR UPDATE", [list(keys)]
        )
        assert len(found.fetchall()) == len(keys)
        yield


def _free(bench: Workbench, key: str, priority: int) -> None:
    bench.create(PartitionIdentifier(key, priority=priority))


def _returned(bench: Workbench, key: str, priority: int) -> None:
    _free(bench, key, priority)
    bench.give_up(bench.acquire(key))


def _delayed_until_now(bench: Workbench, key: str, priority: int) -> None:
    _free(bench, key, priority)
    bench.give_up(bench.acquire(key), MINUTE)


def _closed_until_now(bench: Workbench, key: str, priority: int) -> None:
    _free(bench, key, priority)
    bench.close(bench.acquire(key))


def _held_until_now(bench: Workbench, key: str, priority: int) -> None:
    _free(bench, key, priority)
    bench.begin(bench.acquire(key, timeout=MINUTE), timeout=MINUTE)


CLASSES: list[Callable[[Workbench, str, int], None]] = [
    _free,
    _returned,
    _delayed_until_now,
    _closed_until_now,
    _held_until_now,
]


@pytest.mark.parametrize("lead", CLASSES)
def test_e17_an_acquisition_passes_by_what_somebody_else_is_taking(
    served: Workbench, postgres_store_url: str, lead: Callable[[Workbench, str, int], None]
) -> None:
    """E17: in every branch of the order it takes the next, at once, and answers nothing when none is left."""
    for priority, key in enumerate(("first", "second", "third")):
        lead(served, key, priority)
    served.clock.advance(MINUTE)
    with busy(postgres_store_url, "first", "third"):
        assert served.acquire().key == "second"
        assert served.next() is None
    assert served.acquire().key == "first"


@pytest.mark.parametrize("key", [None, "busy"])
def test_e17_a_fused_step_waits_for_nobody(served: Workbench, postgres_store_url: str, key: str | None) -> None:
    """E17: two that cross would hang; by order and by key."""
    served.create("ended", "busy", "free")
    held = served.acquire("ended")
    following = AcquireNext(source=served.source, tenancy=served.tenancy(), key=key)
    with busy(postgres_store_url, "busy"):
        fused = served.store.complete_and_acquire(served.completing(held), following)
    assert fused.ended.applied
    assert (fused.next and fused.next.key) == (None if key else "free")


@pytest.mark.parametrize(
    ("lead", "swept"),
    [(_closed_until_now, Swept(reopened=1)), (_held_until_now, Swept(reclaimed=1)), (_delayed_until_now, Swept())],
)
def test_e17_a_sweep_passes_by_what_somebody_else_is_changing(
    served: Workbench, postgres_store_url: str, lead: Callable[[Workbench, str, int], None], swept: Swept
) -> None:
    """E17: and finds it the next time."""
    for key in ("busy", "free"):
        lead(served, key, 0)
    served.clock.advance(MINUTE)
    with busy(postgres_store_url, "busy"):
        assert [served.sweep(), served.sweep()] == [swept, Swept()]
    assert served.sweep() == swept


@pytest.mark.parametrize("lead", [_delayed_until_now, _closed_until_now, _held_until_now])
def test_e17_behind_a_busy_row_only_what_is_due_is_looked_at(
    served: Workbench, postgres_store_url: str, lead: Callable[[Workbench, str, int], None]
) -> None:
    """E17: one that is first by its priority and not due holds up nobody."""
    lead(served, "busy", 0)
    lead(served, "due", 2)
    served.clock.advance(MINUTE / 2)
    lead(served, "not due", 1)
    served.clock.advance(MINUTE / 2)
    with busy(postgres_store_url, "busy"):
        assert served.acquire().key == "due"
        assert served.next() is None


@pytest.mark.parametrize("lead", CLASSES)
def test_e17_behind_a_busy_row_another_source_holds_up_nobody(
    served: Workbench, postgres_store_url: str, lead: Callable[[Workbench, str, int], None]
) -> None:
    """E17: its partitions are in the same indexes."""
    lead(served, "busy", 0)
    lead(Workbench(served.store, served.clock, "other|PARTITION"), "another", 1)
    lead(served, "free", 2)
    served.clock.advance(MINUTE)
    with busy(postgres_store_url, "busy"):
        assert served.acquire().key == "free"
        assert served.next() is None


def test_e17_a_fused_step_does_not_take_what_it_ends(served: Workbench) -> None:
    """E17: when the lease that it ends is over, its own partition is the first that could be acquired."""
    held = served.new("expired")
    served.create("free")
    served.expire()
    following = AcquireNext(source=served.source, tenancy=served.tenancy())
    fused = served.store.complete_and_acquire(served.completing(held), following)
    assert fused.ended.applied
    assert fused.next is not None
    assert fused.next.key == "free"
    assert served.get("expired").status is PartitionStatus.COMPLETED


def test_e17_behind_a_busy_row_a_renewed_lease_holds_up_nobody(served: Workbench, postgres_store_url: str) -> None:
    """E17: a healthy lease was stolen here (mutant *timed free row may be unexpired*)."""
    held = _three_held(served)
    served.clock.advance(4 * MINUTE)
    assert served.renew(held).applied
    served.clock.advance(7 * MINUTE)
    _check_the_last_is_taken(served, postgres_store_url)


def test_e17_behind_a_busy_row_one_at_its_last_lost_lease_holds_up_nobody(
    served: Workbench, postgres_store_url: str
) -> None:
    """E17: it was acquired here, and never parked (mutant *timed free row may be at its last lost lease*)."""
    served.create(PartitionIdentifier("second", priority=1))
    for _ in range(MAX_LOST - 1):
        served.begin(served.acquire("second"))
        served.expire()
    served.begin(_three_held(served))
    served.expire()
    _check_the_last_is_taken(served, postgres_store_url)


def _three_held(bench: Workbench) -> Partition:
    """Hold "first", "second" and "last", in this order of priority; return the second."""
    for priority, key in enumerate(("first", "second", "last")):
        bench.create(PartitionIdentifier(key, priority=priority))
    leases = {key: bench.acquire(key) for key in ("first", "second", "last")}
    return leases["second"]


def _check_the_last_is_taken(bench: Workbench, url: str) -> None:
    with busy(url, "first"):
        assert bench.acquire().key == "last"
        assert bench.next() is None
