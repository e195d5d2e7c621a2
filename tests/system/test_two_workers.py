"""One of two workers has no Java for a while, under a real scheduler: nothing is charged, and the work ends."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from airflow_coordination.leases import Outcome, PartitionStatus, SourceCoordinator
from tests.system.harness import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.postgres, pytest.mark.long, pytest.mark.timeout(600)]

KEYS = [f"p{number}" for number in range(6)]
TRIES = 3
"""In each state of the second worker, before it changes; ``max_failures`` of the DAG is below it."""
NOTHING = ({}, set())
ABSENT, BROKEN = "has no Java below JAVA_HOME=", "was not begun: The driver ended without an outcome"


class SecondWorker:
    """The Java of the DAG's second worker: absent, broken, or the one that all others have."""

    def __init__(self, home: Path) -> None:
        self.home, self.java = home, home / "second-worker-java"

    def break_java(self) -> None:
        """Leave a program that is called java, and runs nothing."""
        program = self.home / "broken-java" / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\necho 'libjvm.so: cannot open shared object file' >&2\nexit 1\n")
        program.chmod(0o755)
        self._lead_to(program.parents[1])

    def mend_java(self) -> None:
        self._lead_to(Path(os.environ["JAVA_HOME"]))

    def _lead_to(self, place: Path) -> None:
        new = self.home / "next-java"
        new.symlink_to(place)
        new.replace(self.java)


@pytest.fixture
def coordinator(store):
    coordinator = SourceCoordinator(store, "two_workers", "test")
    coordinator.create_partitions(KEYS)
    return coordinator


def _log(airflow, run_id):
    """Return what the tries of the second task said."""
    folder = airflow.home / "logs" / "dag_id=two_workers" / f"run_id={run_id}" / "task_id=process" / "map_index=1"
    return [path.read_text() for path in sorted(folder.glob("attempt=*.log"))]


def _seen(airflow):
    seen = airflow.home / "two-workers.seen"
    return [tuple(line.split()) for line in seen.read_text().splitlines()] if seen.exists() else []


def test_a2_java_away_from_one_of_two_workers_is_charged_to_no_partition(airflow, coordinator):
    """A2: first there is no Java, then one that cannot start; the other worker goes on, and the work ends."""
    second = SecondWorker(airflow.home)
    run_id = airflow.trigger("two_workers")

    def tries(what):
        return sum(what in log for log in _log(airflow, run_id))

    def charged():
        """A completion sets the counts back to 0, but the ring of endings remembers."""
        counted = {p.key: (p.failures, p.lost_leases) for p in coordinator.partitions() if p.failures or p.lost_leases}
        endings = {ending.outcome for p in coordinator.partitions() for ending in p.endings}
        return counted, endings - {Outcome.GIVEN_UP, Outcome.COMPLETED}

    wait_for(lambda: "first" in dict(_seen(airflow)), 180, "the first worker is at work")
    wait_for(lambda: tries(ABSENT) >= TRIES, 180, "tries of the second task found no Java")
    assert {p.token for p in coordinator.partitions()} == {0, 1}  # what the first task holds, and what nobody had
    second.break_java()
    wait_for(
        lambda: tries(BROKEN) >= TRIES or charged() != NOTHING, 180, "tries of the second task had a Java without a JVM"
    )
    assert charged() == NOTHING
    assert max(p.token for p in coordinator.partitions()) >= TRIES  # these tries did hold leases
    second.mend_java()
    wait_for(lambda: "second" in dict(_seen(airflow)), 180, "the second worker is at work")
    for worker in ("first", "second"):
        (airflow.home / f"two-workers.{worker}-goes-on").touch()
    state = wait_for(lambda: airflow.is_over("two_workers", run_id), 180, "the run is over")

    assert state == "success"
    assert coordinator.counts()[PartitionStatus.COMPLETED] == len(KEYS)
    assert charged() == NOTHING
    assert Counter(key for _, key in _seen(airflow)) == Counter(KEYS)
    assert {worker for worker, _ in _seen(airflow)} == {"first", "second"}
    said = "".join(_log(airflow, run_id))
    assert "Install Java 17 or 21 there" in said
    assert "libjvm.so: cannot open shared object file" in said
    print(f"\n{len(_log(airflow, run_id))} tries of the second task, {tries(ABSENT)} without Java")
