"""The stores answer and hold what the reference does, write by write.

``AGREE_EXAMPLES=20`` makes each test look at twenty times as many examples as a change has to wait for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore, requests
from airflow_coordination.testing.clock import FakeClock
from tests.properties.machine import Machine
from tests.simulation.dynamodb.engine import Engine

TIMES = int(os.environ.get("AGREE_EXAMPLES", "1"))
DYNAMODB = {"table_name": "agree", "region": "us-east-1", "billing_mode": "on_demand"}


class Beside(Machine):
    """The in-memory store beside another one, in which each example has a source of its own."""

    shared_clock: ClassVar[FakeClock]
    other: ClassVar[PartitionStore]

    def start_clock(self) -> FakeClock:
        return self.shared_clock

    def others(self) -> Sequence[PartitionStore]:
        return [self.other]


class BesideSimulatedDynamoDB(Machine):
    """The in-memory store beside the real DynamoDB store over an engine in this process, a new one each time."""

    exactly = False

    def others(self) -> Sequence[PartitionStore]:
        engine = Engine(self.clock.now)
        store = DynamoDBStore(DynamoDBOptions(**DYNAMODB), self.clock, client=lambda _: engine)
        store.setup()
        return [store]


def run(machine: type[Machine], examples: int, steps: int = 50) -> None:
    """Let Hypothesis look for a difference; a failure prints the shortest way to it, and how to see it again."""
    few = settings(
        max_examples=examples * TIMES,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    run_state_machine_as_test(machine, settings=few)


def agree(store: PartitionStore, clock: FakeClock, examples: int, steps: int = 50, **machine: Any) -> None:
    """Compare a store with the reference."""
    store.setup()
    run(type("Compared", (Beside,), {"shared_clock": clock, "other": store, **machine}), examples, steps)
    store.close()


@pytest.mark.slow
def test_s5_sqlite_does_what_the_reference_does(tmp_path: Path) -> None:
    clock = FakeClock()
    agree(open_store(f"sqlite:///{tmp_path}/store.db", clock=clock), clock, examples=20)


@pytest.mark.postgres
@pytest.mark.slow
def test_s5_postgresql_does_what_the_reference_does(postgres_url: str) -> None:
    clock = FakeClock()
    agree(open_store(postgres_url, clock=clock), clock, examples=8)


@pytest.mark.slow
def test_s5_dynamodb_does_what_the_reference_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the simulated engine: its counts and the order of leases that ended need not be the reference's."""
    monkeypatch.setattr(requests, "PARALLEL", 1)  # the engine is for one thread
    run(BesideSimulatedDynamoDB, examples=15)


@pytest.mark.dynamodb
@pytest.mark.slow
def test_s5_dynamodb_local_does_what_the_reference_does(dynamodb_local: str) -> None:
    clock = FakeClock()
    options = DynamoDBOptions(**DYNAMODB, endpoint_url=dynamodb_local)
    agree(DynamoDBStore(options, clock), clock, examples=1, steps=40, exactly=False)
