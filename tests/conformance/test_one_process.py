"""The in-memory store refuses processes in which nobody else would see its partitions (promise S17)."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from airflow_coordination.leases import CoordinationError, SettingsError
from airflow_coordination.stores import open_store
from airflow_coordination.stores.in_memory import InMemoryStore

REMEDY = "Use sqlite:////path/to/coordination.db on one machine, or postgresql+psycopg://user@host/database"
CALLS: dict[str, Callable[[InMemoryStore], Any]] = {
    "setup": lambda store: store.setup(),
    "now": lambda store: store.now(),
    "sources": lambda store: store.sources(),
    "get": lambda store: store.get("s", "k"),
    "counts": lambda store: store.counts("s"),
    "claimable": lambda store: store.claimable("s", 1),
    "page": lambda store: store.page("s", None, None, 1),
}


def _refused_in_child(store: InMemoryStore, queue: Any) -> None:
    for name, call in CALLS.items():
        try:
            call(store)
        except CoordinationError as error:
            queue.put((name, str(error)))
        else:
            queue.put((name, "was not refused"))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_s17_a_forked_child_is_refused_at_every_call() -> None:
    store = InMemoryStore()
    forked = multiprocessing.get_context("fork")
    queue = forked.SimpleQueue()
    child = forked.Process(target=_refused_in_child, args=(store, queue))
    child.start()
    answers = dict(queue.get() for _ in CALLS)
    child.join()
    expected = f"store='in_memory': serves one process only, and this is a forked child. {REMEDY}"
    assert answers == dict.fromkeys(CALLS, expected)
    for call in CALLS.values():
        call(store)


def test_s17_a_supervised_task_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    early = InMemoryStore()
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "airflow-db-not-allowed:///")
    for call in (InMemoryStore, lambda: open_store("memory://"), early.setup, lambda: early.get("s", "k")):
        with pytest.raises(SettingsError, match="each supervised Airflow task is a process of its own") as refused:
            call()
        assert str(refused.value).endswith(REMEDY)


def test_s17_an_ordinary_airflow_process_may_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "sqlite:////tmp/airflow.db")
    InMemoryStore().setup()


def test_s17_a_driver_that_a_task_started_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    early = InMemoryStore()
    monkeypatch.setenv("COORDINATION_HANDOVER", "{}")
    for call in (InMemoryStore, early.setup):
        with pytest.raises(SettingsError, match="this Spark driver was started by an Airflow task") as refused:
            call()
        assert str(refused.value).endswith(REMEDY)


def test_s17_it_does_not_travel_to_another_process() -> None:
    with pytest.raises(SettingsError, match="cannot be copied to another one"):
        pickle.dumps(InMemoryStore())


SUPERVISED = """
from airflow.sdk.execution_time.supervisor import block_orm_access
from airflow_coordination.stores.in_memory import InMemoryStore

InMemoryStore().setup()
block_orm_access()
InMemoryStore()
"""


@pytest.mark.slow
def test_s17_airflow_marks_its_supervised_processes() -> None:
    """What Airflow's supervisor calls in each process it forks, and nothing calls in ``dag.test()``."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW__")}
    finished = subprocess.run(
        [sys.executable, "-c", SUPERVISED], capture_output=True, text=True, check=False, env=environment
    )
    assert finished.returncode == 1
    last = finished.stderr.strip().splitlines()[-1]
    assert "each supervised Airflow task is a process of its own" in last, finished.stderr
