"""The SQL stores answer and hold what the reference does, write by write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from tests.properties.machine import Machine


class Beside(Machine):
    """The in-memory store beside another one, in which each example has a source of its own."""

    shared_clock: ClassVar[FakeClock]
    other: ClassVar[PartitionStore]

    def start_clock(self) -> FakeClock:
        return self.shared_clock

    def others(self) -> Sequence[PartitionStore]:
        return [self.other]


def agree(url: str, examples: int, steps: int) -> None:
    """Compare the store at ``url`` with the reference."""
    clock = FakeClock()
    store = open_store(url, clock=clock)
    store.setup()
    machine = type("Compared", (Beside,), {"shared_clock": clock, "other": store})
    few = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    run_state_machine_as_test(machine, settings=few)
    store.close()


@pytest.mark.slow
def test_s5_sqlite_does_what_the_reference_does(tmp_path: Path) -> None:
    agree(f"sqlite:///{tmp_path}/store.db", examples=30, steps=50)


@pytest.mark.postgres
@pytest.mark.slow
def test_s5_postgresql_does_what_the_reference_does(postgres_url: str) -> None:
    agree(postgres_url, examples=10, steps=50)
