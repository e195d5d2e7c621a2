"""S6 on PostgreSQL: a connection cut before, after and during each write; "ok" if and only if the write applied."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta

import psycopg
import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.stores import open_store
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.status import PartitionStatus
from tests.faults.postgres_cuts import Cut, CuttingProxy, cutting_proxy

pytestmark = pytest.mark.postgres

S = PartitionStatus
BLOCK = Block("clean", "file:///out/manifest", "digest", rows=3, bytes=9)
Doing = Callable[[SourceCoordinator, Lease], object]


class Place:
    """A coordinator behind a proxy, and a direct one that sees what the store really holds."""

    def __init__(self, url: str, through: str, proxy: CuttingProxy) -> None:
        self.url, self.proxy = url, proxy
        self.cut = SourceCoordinator(open_store(through), source="s", owner="h/d/r/t/0/1")
        self.direct = SourceCoordinator(open_store(url), source="s", owner="judge")

    def hold_row(self, key: str) -> psycopg.Connection[tuple[object, ...]]:
        """Lock a partition's row in another session."""
        connection = psycopg.connect(self.url.replace("+psycopg", ""))
        connection.execute("SELECT 1 FROM coordination_partitions WHERE source_partition_key = %s FOR UPDATE", [key])
        return connection

    def release_when_waited_for(self, holder: psycopg.Connection[tuple[object, ...]]) -> None:
        """Let the row go after the cut statement has begun to wait for it."""
        self.proxy.done.wait(20)
        with psycopg.connect(self.url.replace("+psycopg", ""), autocommit=True) as looking:
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            while not (row := looking.execute(waiting).fetchone()) or not row[0]:
                pass
        holder.rollback()
        holder.close()


@pytest.fixture
def place(postgres_store_url: str) -> Iterator[Place]:
    with cutting_proxy(postgres_store_url) as (through, proxy):
        made = Place(postgres_store_url, through, proxy)
        yield made
        made.cut.store.close()
        made.direct.store.close()


WRITES: dict[str, tuple[Doing, S]] = {
    "renew": (lambda c, lease: c.renew(lease), S.ASSIGNED),
    "save": (lambda c, lease: c.save_progress_state(lease, {"row": 1}, blocks=[BLOCK]), S.ASSIGNED),
    "complete": (lambda c, lease: c.complete(lease), S.COMPLETED),
    "complete with output": (lambda c, lease: c.complete(lease, blocks=[BLOCK]), S.COMPLETED),
    "close": (lambda c, lease: c.close(lease, reopen_after=timedelta(hours=1)), S.CLOSED),
    "fail": (lambda c, lease: c.fail(lease, "broken", retry_after=timedelta(hours=1)), S.UNASSIGNED),
    "give up": (lambda c, lease: c.give_up(lease), S.UNASSIGNED),
    "complete and next": (lambda c, lease: c.complete_and_get_next(lease, blocks=[BLOCK]), S.COMPLETED),
}


def check(place: Place, name: str, lease: Lease, result: object) -> None:
    """Compare what the store holds with what the caller was told: each write was answered "ok"."""
    stored = place.direct.partition(lease.key)
    assert stored is not None
    assert stored.status is WRITES[name][1]
    counts = (stored.closed_count, stored.failures)
    assert counts == {"close": (1, 0), "fail": (0, 1)}.get(name, (0, 0))
    if name == "save":
        assert stored.progress_state == {"row": 1}
    heads = place.direct.store.heads("s|PARTITION")
    assert [head.rows for head in heads] == ([3] if name in ("complete with output", "complete and next") else [])
    if name == "complete and next" and result is not None:
        assert isinstance(result, Lease)
        held = place.direct.partition(result.key)
        assert held is not None
        assert held.held_under(result.fence)


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER, Cut.WAITING])
@pytest.mark.parametrize("name", WRITES)
def test_s6_a_cut_owner_write_is_settled(place: Place, name: str, cut: Cut) -> None:
    place.direct.create_partitions(["a", "b"])
    lease = place.cut.get_next_partition()
    assert lease is not None
    releasing = None
    if cut is Cut.WAITING:
        holder = place.hold_row(lease.key)
        releasing = threading.Thread(target=place.release_when_waited_for, args=[holder])
        releasing.start()
    place.proxy.cut_next(cut)
    result = WRITES[name][0](place.cut, lease)
    assert place.proxy.done.is_set()
    if releasing:
        releasing.join()
    check(place, name, lease, result)
    assert place.cut.refusals == 0


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
def test_s6_a_cut_creation_counts_the_same(place: Place, cut: Cut) -> None:
    place.direct.create_partitions(["a"])
    place.cut.counts()
    place.proxy.cut_next(cut)
    made = place.cut.create_partitions(["a", "b", "c"])
    assert (made.created, made.existing) == (2, 1)
    assert place.direct.counts()[S.UNASSIGNED] == 3


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
def test_s6_a_cut_acquisition_leaves_no_partition_behind(place: Place, cut: Cut) -> None:
    place.direct.create_partitions(["a", "b"])
    place.cut.counts()
    place.proxy.cut_next(cut)
    lease = place.cut.get_next_partition()
    assert lease is not None
    held = place.direct.partitions(S.ASSIGNED)
    assert [(p.key, p.fence) for p in held] == [(lease.key, lease.fence)]


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER, Cut.WAITING])
def test_s6_a_cut_acquisition_by_hint_is_settled(place: Place, cut: Cut) -> None:
    place.direct.create_partitions(["a", "b"])
    hint = place.cut.claimable()[1]
    releasing = None
    if cut is Cut.WAITING:
        releasing = threading.Thread(target=place.release_when_waited_for, args=[place.hold_row("b")])
        releasing.start()
    place.proxy.cut_next(cut)
    lease = place.cut.get_next_partition(hint=hint)
    if releasing:
        releasing.join()
    assert lease is not None
    held = place.direct.partitions(S.ASSIGNED)
    assert (lease.key, lease.fence) in [(p.key, p.fence) for p in held]
    assert lease.key == "b"


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
@pytest.mark.parametrize("action", ["release", "park", "reset", "delete"])
def test_s6_a_cut_action_is_done_once(place: Place, action: str, cut: Cut) -> None:
    place.direct.create_partitions(["a"])
    assert place.direct.get_next_partition() is not None
    place.cut.counts()
    place.proxy.cut_next(cut)
    getattr(place.cut.people, action)("a", by="ana", why="test")
    audit = place.direct.store.audit("s|PARTITION", "a")
    assert [entry["action"] for entry in audit] == [action]
