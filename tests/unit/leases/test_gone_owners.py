"""What a killed process of this machine held is taken at once: real processes, killed by a signal."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from airflow_coordination.leases import Owner, PartitionStatus, SourceCoordinator
from airflow_coordination.leases import tries as subject
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark.draining import next_lease
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import FaultyStore
from airflow_coordination.values.errors import StoreUnavailableError
from airflow_coordination.values.status import Outcome
from airflow_coordination.values.whereabouts import whereabouts

HOLDS = """
import sys
from datetime import timedelta
from airflow_coordination.leases import Owner, Settings, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.values.whereabouts import whereabouts

def supplier(state):
    state["listed"] = 3
    print("holds", flush=True)
    input()
    return []

settings = Settings(reassign_grace=timedelta(hours=1), max_failures=int(sys.argv[3]))
owner = Owner.of_process("killed", whereabouts()).text
source = SourceCoordinator(open_store(sys.argv[1]), "flights", owner, settings=settings)
if sys.argv[2] == "supplier":
    source.run_supplier(supplier)
for key in sys.argv[2].split(","):
    assert source.acquire_partition(key)
print("holds", flush=True)
input()
"""
Kill = Callable[..., None]


@pytest.fixture
def url(tmp_path: object) -> str:
    return f"sqlite:///{tmp_path}/c.db"


@pytest.fixture
def store(url: str) -> Iterator[PartitionStore]:
    store = open_store(url)
    store.setup()
    yield store
    store.close()


@pytest.fixture
def kill(url: str) -> Kill:
    """Let a process acquire partitions, or run the supplier, and kill it."""

    def kill(keys: str, max_failures: int = 5) -> None:
        command = [sys.executable, "-c", HOLDS, url, keys, str(max_failures)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "holds\n"
        process.send_signal(signal.SIGKILL)
        process.communicate()

    return kill


@pytest.fixture
def flights(store: PartitionStore) -> SourceCoordinator:
    flights = SourceCoordinator(store, "flights", Owner.of_process("me", whereabouts()).text)
    flights.create_partitions(["a", "b", "c"])
    return flights


def test_w8_what_a_killed_process_held_is_taken_at_once_in_spite_of_its_grace(
    kill: Kill, flights: SourceCoordinator
) -> None:
    kill("a,b,c")
    lease = next_lease(flights, None)
    assert lease is not None
    assert lease.key == "a"
    history = flights.history("a")
    assert [each.outcome for each in history] == [Outcome.FAILED]
    error = lease.partition.last_error
    assert error is not None
    assert error.startswith("Its process is gone without an ending (killed); noticed on the same machine, by me")
    assert sorted(each.key for each in flights.partitions(PartitionStatus.UNASSIGNED)) == ["b", "c"]


def test_w8_one_that_kills_again_rests_and_is_parked_by_its_owners_limit(
    kill: Kill, flights: SourceCoordinator
) -> None:
    kill("a")
    assert flights.tries.gone.look() == ["a"]
    kill("a", max_failures=2)
    assert flights.tries.gone.look() == ["a"]
    assert flights.partitions(parked=True)[0].key == "a", "the coordinator that looks would park at five"
    kill("b")
    flights.tries.gone.look()
    kill("b")
    assert flights.tries.gone.look() == ["b"]
    rests = flights.partition("b")
    assert rests is not None
    assert (rests.status, rests.failures) == (PartitionStatus.UNASSIGNED, 2)
    assert flights.acquire_partition("b") is None, "it waits as every other that fails again"


def test_w8_a_killed_suppliers_lease_is_taken_at_once_and_its_state_is_kept(
    kill: Kill, flights: SourceCoordinator
) -> None:
    kill("supplier")
    assert flights.supplying.supplier_rival() is not None
    run = flights.run_supplier(lambda state: ["d"])
    assert (run.ran, run.created.created) == (True, 1)


def test_w8_who_lives_or_is_elsewhere_keeps_what_it_holds(store: PartitionStore, flights: SourceCoordinator) -> None:
    other = SourceCoordinator(store, "flights", "host;boot=5f0c1d2e;process=1.1")
    assert other.acquire_partition("a")
    assert flights.acquire_partition("b")
    assert flights.tries.gone.look() == []
    assert flights.run_supplier(lambda state: []).ran


def test_a_driver_with_enough_to_do_looks_now_and_then(store: PartitionStore) -> None:
    clock, counting = FakeClock(), FaultyStore(store)
    flights = SourceCoordinator(counting, "flights", "me", clock=clock)
    gone = flights.tries.gone
    gone.look_now_and_then()
    assert counting.calls == []
    clock.advance(timedelta(seconds=subject.LOOK_EVERY))
    for _ in range(3):
        gone.look_now_and_then()
    assert counting.calls == ["page"], "one request, as nobody holds anything"


def test_a_store_that_does_not_answer_ends_the_look_alone(
    kill: Kill, store: PartitionStore, flights: SourceCoordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill("a")

    def silent(*_: object) -> None:
        raise StoreUnavailableError("page", "no answer")

    with monkeypatch.context() as broken:
        broken.setattr(store, "page", silent)
        assert flights.tries.gone.look() == []
    assert flights.tries.gone.look() == ["a"]


def test_more_than_a_page_of_leases_is_looked_through(
    kill: Kill, flights: SourceCoordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "_AT_ONCE", 2)
    kill("a,b,c")
    assert flights.tries.gone.look() == ["a", "b", "c"]
