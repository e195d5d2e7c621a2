"""Every reason on real stores, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from airflow_coordination.leases import Block, InvalidKeyError, Owner, Reason, SourceCoordinator
from airflow_coordination.leases.explaining.facts import HELD, MOST_HEADS, PLACES
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.forwarding import ForwardingStore
from tests.sent.tape import Tape, heard_by_psycopg

HOUR = timedelta(hours=1)
MOST_ROWS = 1_100
OWNER = Owner.of_task("host", "flights", "manual__1", "process", 3, 1).text
MANY = 3_000
T = TypeVar("T")


class Counting(ForwardingStore):
    """Knows what it was asked, and how many rows came back."""

    def __init__(self, store: PartitionStore) -> None:
        super().__init__(store)
        self.asked: list[str] = []
        self.rows = 0

    def forward(self, name: str, call: Callable[[], T]) -> T:
        found = call()
        self.asked.append(name)
        self.rows += len(found) if isinstance(found, Sized) else 1
        return found


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite", "dynamodb"])
def store(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> Iterator[PartitionStore]:
    """A store under a clock that the test moves."""
    if request.param == "dynamodb":
        moto = request.getfixturevalue("moto")
        made = moto.store("explaining", clock)
    else:
        made = open_store(_url(request.param, tmp_path), clock=clock)
    made.setup()
    yield made
    made.close()
    if request.param == "dynamodb":
        moto.delete("explaining")


def _url(name: str, folder: Path) -> str:
    return {"memory": "memory://", "sqlite": f"sqlite:///{folder}/s.db"}[name]


def _coordinator(store: PartitionStore, **settings: Any) -> SourceCoordinator:
    limits = {"max_failures": 2, "max_lost_leases": 1}
    coordinator = SourceCoordinator(store, "flights", OWNER, **(limits | settings))
    coordinator.supplying.register()
    return coordinator


@pytest.fixture
def flights(store: PartitionStore, clock: FakeClock) -> SourceCoordinator:
    coordinator = _coordinator(store, clock=clock)
    coordinator.create_partitions(["2013-01", "2013-02", "2013-03"])
    return coordinator


def _said(flights: SourceCoordinator, reason: Reason, *parts: str, key: str = "2013-01") -> None:
    said = flights.explain(key)
    assert (said.key, said.reason) == (key, reason)
    assert [part for part in parts if part not in said.sentence] == []


def test_what_waits_says_its_place(flights):
    _said(flights, Reason.WAITING, "first in the order (class: new)")
    _said(flights, Reason.WAITING, "behind 2 others in the order", key="2013-03")


def test_what_waits_for_long_says_since_when_nobody_has_acquired(flights, clock):
    knows = parts_of(flights.store).history is not None  # DynamoDB has none, so that nobody knows
    clock.advance(HOUR)
    gone, nobody = "as far back as its history goes", "but nobody has acquired anything in its source"
    _said(flights, Reason.IDLE if knows else Reason.WAITING, *[f"{nobody} {gone}"] * knows)
    flights.renew(flights.acquire_partition("2013-02"))
    _said(flights, Reason.WAITING, "first in the order (class: new).")
    clock.advance(HOUR / 20)
    _said(flights, Reason.WAITING)
    clock.advance(HOUR / 5)
    flights.sweep()
    _said(flights, Reason.PARKED, key="2013-02")
    _said(flights, Reason.WAITING)  # that was a sign
    clock.advance(HOUR)
    _said(
        flights,
        Reason.IDLE if knows else Reason.WAITING,
        *[f"{nobody} since 2026-01-01T01:15:00+00:00 (1 h ago)"] * knows,
    )


def test_the_owners_are_busy_and_nobody_looks_after_the_source(flights, clock):
    knows = parts_of(flights.store).history is not None
    lease = flights.acquire_partition("2013-02")
    for _ in range(3):
        clock.advance(HOUR / 7)
        lease = flights.renew(lease)
    nobody = "nobody has acquired anything in its source"
    busy = f"; {nobody} since 2026-01-01T00:00:00+00:00 (25 min 42 s ago), and 1 partition"
    _said(flights, Reason.WAITING, *[busy] * knows)
    clock.advance(HOUR)
    unseen = "; no sensor or acquirer was seen in its source since 2026-01-01T00:00:00+00:00 (1 h 25 min ago)."
    _said(flights, Reason.EXPIRED, *[unseen] * knows, key="2013-02")


def test_what_is_held_expires_and_is_swept(flights, clock):
    flights.renew(flights.acquire_partition("2013-01"))
    said = "is held by task 'process', map index 3, try 1, of run 'manual__1' of DAG 'flights' on host 'host'; its"
    _said(flights, Reason.HELD, said)
    clock.advance(2 * HOUR)
    _said(flights, Reason.EXPIRED, "was held by task 'process'")
    assert flights.explain("2013-01").next == "The next sweep of a sensor parks it, after 1 lost lease in a row."
    assert flights.sweep().parked == 1
    _said(flights, Reason.PARKED, "after 1 lost lease in a row")


def test_what_fails_is_delayed_and_then_parked(flights, clock):
    flights.fail(flights.acquire_partition("2013-01"), "No memory\nsomewhere")
    _said(flights, Reason.DELAYED, "after failure 1 of 2: No memory.")
    clock.advance(HOUR / 60)
    _said(flights, Reason.WAITING, "class: new")
    flights.fail(flights.acquire_partition("2013-01"), "No disk")
    _said(flights, Reason.PARKED, "is parked after 2 failures in a row: No disk.")
    flights.people.retract("2013-01", by="eva", why="wrong rows")
    _said(flights, Reason.PARKED, "is parked after 2 failures in a row: No disk.")
    flights.people.reopen("2013-01", by="ana", why="a larger disk")
    _said(flights, Reason.WAITING, "first in the order (class: reopened)")


def test_what_is_given_up_for_a_while(flights):
    flights.give_up(flights.acquire_partition("2013-01"), retry_after=HOUR)
    _said(flights, Reason.DELAYED, "because its owner gave it up until then")


def test_what_is_closed_reopens_and_is_due(flights, clock):
    flights.close(flights.acquire_partition("2013-01"), reopen_after=8 * HOUR)
    _said(flights, Reason.REOPENS, "was closed 1 time and reopens at 2026-01-01T08:00:0")
    clock.advance(9 * HOUR)
    _said(flights, Reason.DUE, "is due since 2026-01-01T08:00:0")


@pytest.mark.parametrize("held", [False, True])
def test_what_a_person_has_parked_and_deleted(flights, clock, held):
    flights.fail(flights.acquire_partition("2013-01"), "No memory")
    clock.advance(HOUR)
    if held:
        flights.acquire_partition("2013-01")
    flights.people.park("2013-01", by="ana", why="a bad file")
    _said(flights, Reason.PARKED, "by 'ana', who said 'a bad file'.")
    clock.advance(1)  # DynamoDB orders people's actions by their time
    flights.people.retract("2013-01", by="eva", why="wrong rows")
    _said(flights, Reason.PARKED, "by 'ana', who said 'a bad file'.")
    clock.advance(1)
    flights.people.delete("2013-01", by="leo", why="not needed")
    _said(flights, Reason.DELETED, "was deleted at", "by 'leo', who said 'not needed'.")


def test_what_is_done_says_what_it_has_published(flights):
    block = Block("clean", "flights/k/1-n", "0" * 64, 1234, 5)
    flights.complete(flights.acquire_partition("2013-01"), [block])
    _said(flights, Reason.DONE, "is done since 2026-01-01", "1,234 rows in dataset 'clean'.")
    flights.people.retract("2013-01", by="ana", why="wrong")
    _said(flights, Reason.DONE, "what it published was taken back.")
    flights.complete(flights.acquire_partition("2013-02"))
    _said(flights, Reason.DONE, "it has published nothing.", key="2013-02")


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("2013-01x", "'2013-01', '2013-02', '2013-03'"),
        ("2013-025", "'2013-01', '2013-02', '2013-03'"),
        ("0", "'2013-01', '2013-02', '2013-03'"),
        ("zzzz", "'2013-01', '2013-02', '2013-03'"),
        ("\U0010ffff" * 512, "'2013-01', '2013-02', '2013-03'"),
    ],
)
def test_what_is_not_there_names_its_neighbours(flights, key, nearest):
    _said(flights, Reason.ABSENT, f"the nearest keys: {nearest}.", key=key)


def test_nobody_is_near_in_an_empty_source(store, clock):
    _said(_coordinator(store, clock=clock), Reason.ABSENT, "no other key was found near it.")


@pytest.mark.parametrize("key", ["", "a\0", "x" * 2049, "\ud800"])
def test_a_key_that_nothing_can_have_is_refused(flights, key):
    with pytest.raises(InvalidKeyError, match=r"^key="):
        flights.explain(key)


def _asked(flights: SourceCoordinator, key: str) -> list[str]:
    """Return what one explanation asks of the store."""
    counting = Counting(flights.store)
    _coordinator_of(flights, counting).explain(key)
    assert counting.rows <= MOST_ROWS
    return counting.asked


def _coordinator_of(flights: SourceCoordinator, store: PartitionStore) -> SourceCoordinator:
    return SourceCoordinator(store, flights.source, OWNER, clock=flights._core.clock)


ASKED = {
    "waiting": ["get", "now", "pause", "claimable"],
    "held": ["get", "now", "pause"],
    "parked": ["get", "now", "audit"],
    "done": ["get", "now", "heads", "follow_ups"],
    "deleted": ["get", "now", "audit"],
    "x": ["get", "now", *["page"] * 2],
    "held-but-longer": ["get", "now", *["page"] * 6],
}
"""What each explanation asks; the last of all neighbours is looked for by shorter and shorter beginnings."""


@pytest.fixture(params=["memory", "sqlite"])
def large(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> SourceCoordinator:
    """A source of many partitions, with one for each reason at its end."""
    store = open_store(_url(request.param, tmp_path), clock=clock)
    store.setup()
    flights = _coordinator(store, clock=clock)
    flights.create_partitions([*(f"k{n:05}" for n in range(MANY)), *list(ASKED)[:5]])
    flights.acquire_partition("held")
    flights.people.park("parked", by="ana", why="bad")
    blocks = [Block(f"d{n:03}", "a/b", "0" * 64, 1, 1) for n in range(MOST_HEADS + 10)]
    flights.complete(flights.acquire_partition("done"), blocks)
    flights.people.delete("deleted", by="ana", why="bad")
    return flights


@pytest.mark.parametrize("key", ASKED)
def test_d_what_is_asked_and_read_does_not_grow_with_the_source(large, key):
    assert _asked(large, key) == ASKED[key]


def test_d_signs_of_work_are_looked_for_where_something_waits_for_long(large, clock):
    clock.advance(HOUR)
    signs = ["page", "history"]
    assert _asked(large, "waiting") == [*ASKED["waiting"], *signs]
    assert _asked(large, "held") == [*ASKED["held"], *signs]  # it has expired meanwhile


def test_d_so_many_owners_are_not_looked_at_that_somebody_works_anyway(large, clock):
    for _ in range(HELD):
        large.get_next_partition()
    clock.advance(HOUR)
    _said(large, Reason.WAITING, key="waiting")
    assert _asked(large, "waiting") == [*ASKED["waiting"], "page"]


def test_d_a_place_is_counted_up_to_a_thousand(large):
    _said(large, Reason.WAITING, "behind at least 1,000 others in the order", key="waiting")
    _said(large, Reason.WAITING, f"behind {PLACES - 1} others in the order", key=f"k{PLACES - 1:05}")
    _said(large, Reason.WAITING, "behind at least 1,000 others in the order", key=f"k{PLACES:05}")


@pytest.mark.parametrize("key", ASKED)
def test_d_each_question_is_one_statement_on_sqlite(tmp_path, clock, key):
    store = open_store(f"sqlite:///{tmp_path}/s.db", clock=clock)
    assert isinstance(store, SqlStore)
    store.setup()
    flights = _coordinator(store, clock=clock)
    flights.create_partitions([*list(ASKED)[:5]])
    flights.acquire_partition("held")
    flights.people.park("parked", by="ana", why="bad")
    flights.complete(flights.acquire_partition("done"))
    flights.people.delete("deleted", by="ana", why="bad")
    with _heard_by_sqlite(store) as sent:
        flights.explain(key)
    assert len(sent) == len(ASKED[key])


@contextmanager
def _heard_by_sqlite(store: SqlStore) -> Iterator[list[str]]:
    sent: list[str] = []
    with store.database.connected(Call("listen")) as connected:
        connected.connection.set_trace_callback(sent.append)
    yield sent


def test_postgresql_by_the_server_s_clock(postgres_store_url):
    store = open_store(postgres_store_url)
    flights = _coordinator(store)
    flights.create_partitions(["2013-01", "2013-02", "2013-03", "2013-04", "2013-05"])
    flights.complete(flights.acquire_partition("2013-02"))
    flights.close(flights.acquire_partition("2013-03"), reopen_after=HOUR)
    flights.people.park("2013-04", by="ana", why="bad")
    flights.acquire_partition("2013-05")
    tape = Tape()
    tape.heading("explain")
    with heard_by_psycopg(tape):
        _said(flights, Reason.WAITING, "first in the order")
        _said(flights, Reason.DONE, "(0 s ago): it has published nothing.", key="2013-02")
        _said(flights, Reason.REOPENS, "(in 59 min ", key="2013-03")
        _said(flights, Reason.PARKED, "by 'ana', who said 'bad'.", key="2013-04")
        _said(flights, Reason.HELD, "(in 9 min ", key="2013-05")
    assert sum("SELECT" in line for line in tape.lines) == 4 + 4 + 3 + 3 + 3
    _said(flights, Reason.ABSENT, "the nearest keys: '2013-01', '2013-02'", key="2013-01x")
    store.close()
