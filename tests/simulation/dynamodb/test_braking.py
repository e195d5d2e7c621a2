"""The brake on DynamoDB: who may not know of a failure is never held to be failing, and who does well pays nothing."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from airflow_coordination.leases import Lease, SourceCoordinator
from airflow_coordination.stores.dynamodb import DynamoDBStore, requests
from tests.simulation.dynamodb.test_pausing import Processes

DAY = timedelta(days=1)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Processes:
    monkeypatch.setattr(requests, "PARALLEL", 1)
    made = Processes()
    first = made.start()
    first.store.setup()
    first.create_partitions(f"{number:02}" for number in range(60))
    return made


def acquire(one: SourceCoordinator) -> Lease:
    lease = one.get_next_partition()
    assert lease is not None
    return lease


def fail(one: SourceCoordinator, times: int = 1) -> None:
    for _ in range(times):
        one.fail(acquire(one), "no table", retry_after=DAY)


def number(one: SourceCoordinator) -> int:
    failing = one.pausing.current_pause().failing
    return 0 if failing is None else failing.number


def sent(one: SourceCoordinator) -> Counter[str]:
    assert isinstance(one.store, DynamoDBStore)
    return Counter(one.store.table.requests)


def test_x13_who_does_well_sends_nothing_for_it(processes: Processes) -> None:
    worker = processes.start()
    leases = [acquire(worker) for _ in range(3)]
    before = sent(worker)
    for lease in leases:
        worker.complete(lease)
    assert sent(worker) - before == Counter(update_item=3)


def test_x13_a_success_of_who_may_not_know_is_no_failure_in_a_row(processes: Processes) -> None:
    """B4: a process believes for 30 s that nothing fails; nothing counts before it has asked, then its success does."""
    worker, failing = processes.start(), processes.start()
    leases = [acquire(worker) for _ in range(3)]
    fail(failing, 2)
    processes.clock.advance(timedelta(seconds=20))
    before = sent(worker)
    worker.complete(leases[0])
    assert sent(worker) - before == Counter(update_item=1), "it believes what it has heard"
    fail(failing, 20)
    assert number(failing) == 0
    assert not failing.pausing.current_pause().paused
    processes.clock.advance(timedelta(seconds=15))
    fail(failing, 3)
    assert number(failing) == 3
    before = sent(worker)
    worker.complete(leases[1])
    assert sent(worker) - before == Counter(get_item=1, update_item=2), "it has asked, and has heard of it"
    assert number(failing) == 0
    before = sent(worker)
    worker.complete(leases[2])
    assert sent(worker) - before == Counter(get_item=1, update_item=1), "it asks once more, and believes it then"


def test_x13_failures_that_do_not_count_write_next_to_nothing(processes: Processes) -> None:
    failing = processes.start()
    leases = [acquire(failing) for _ in range(12)]
    fail(failing, 2)
    before = sent(failing)
    for lease in leases[:10]:
        failing.fail(lease, "no table", retry_after=DAY)
    assert sent(failing) - before == Counter(update_item=10, get_item=20), "each asks, and looks whether it is enough"


def test_b4_a_source_that_only_fails_is_paused_for_all_processes(processes: Processes) -> None:
    workers = [processes.start() for _ in range(3)]
    for worker in workers[:2]:
        fail(worker)
    processes.clock.advance(timedelta(seconds=33))
    for done in range(10):
        assert not workers[0].pausing.current_pause().paused
        fail(workers[done % 3])
    assert workers[1].pausing.current_pause().braked
    processes.clock.advance(timedelta(seconds=30))
    assert [worker.get_next_partition() for worker in workers] == [None] * 3
    workers[0].pausing.resume("ana", "the table is there")
    assert number(workers[0]) == 0
    worker_after = processes.start()
    worker_after.complete(acquire(worker_after))
    assert not worker_after.pausing.current_pause().paused


def test_x13_a_first_failure_that_arrives_late_starts_no_clock(processes: Processes) -> None:
    """B4: since when it counts is said by who has read that something fails, never by the first failure itself."""
    failing = processes.start()
    fail(failing)
    processes.clock.advance(timedelta(minutes=10))
    fail(failing)
    assert number(failing) == 0
    processes.clock.advance(timedelta(seconds=33))
    fail(failing)
    assert number(failing) == 1
