"""A pause on DynamoDB: each process asks for it again and again, and what that costs; promise X12."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore, requests
from airflow_coordination.testing.clock import FakeClock
from tests.simulation.dynamodb.engine import Engine

OPTIONS = DynamoDBOptions(table_name="coordination", billing_mode="on_demand")


class Processes:
    """Processes on one table, each with a store and a coordinator of its own."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self._engine = Engine(self.clock.now)

    def start(self) -> SourceCoordinator:
        """Return the coordinator of another process."""
        store = DynamoDBStore(OPTIONS, self.clock, client=lambda _: self._engine, local=self.clock)
        return SourceCoordinator(store, "flights", "me", clock=self.clock)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Processes:
    monkeypatch.setattr(requests, "PARALLEL", 1)
    made = Processes()
    first = made.start()
    first.store.setup()
    first.create_partitions(map(str, range(20)))
    return made


def asked(one: SourceCoordinator) -> int:
    """Return how many items a process has read so far."""
    assert isinstance(one.store, DynamoDBStore)
    return one.store.table.requests["get_item"]


def test_x12_a_process_that_acquires_asks_again_after_30_seconds(processes: Processes) -> None:
    worker, person = processes.start(), processes.start()
    assert worker.get_next_partition() is not None
    person.pausing.pause(by="ana", why="why")
    assert worker.get_next_partition() is not None, "it has asked, and believes it"
    processes.clock.advance(timedelta(seconds=30))
    hint = worker.claimable(1)[0]
    assert worker.get_next_partition() is None
    assert worker.get_next_partition(hint=hint) is None
    assert worker.acquire_partition("7") is None


def test_x12_a_process_that_starts_asks_at_once(processes: Processes) -> None:
    processes.start().pausing.pause(by="ana", why="why")
    assert processes.start().get_next_partition() is None


def test_who_resumes_need_not_wait(processes: Processes) -> None:
    worker, person = processes.start(), processes.start()
    person.pausing.pause(by="ana", why="why")
    assert worker.get_next_partition() is None
    person.pausing.resume(by="ana", why="why")
    assert worker.get_next_partition() is not None


def test_asking_costs_one_read_in_30_seconds(processes: Processes) -> None:
    worker = processes.start()
    worker.get_next_partition()
    before = asked(worker)
    for _ in range(5):
        assert worker.get_next_partition() is not None
    assert asked(worker) == before
    processes.clock.advance(timedelta(seconds=30))
    for _ in range(5):
        assert worker.get_next_partition() is not None
    assert asked(worker) == before + 1


def test_nobody_asks_for_a_pause_of_the_supplier(processes: Processes) -> None:
    supplier = processes.start()
    processes.start().pausing.pause(by="ana", why="why")
    assert supplier.run_supplier(lambda state: ["new"]).ran
    assert supplier.partition("new") is not None
