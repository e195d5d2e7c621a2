"""A leader of duties as a real process that is stopped by a signal while another leads, and then goes on (S25)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from airflow_coordination.duties.configuring import set_config
from airflow_coordination.duties.groups.running import GroupRunner
from airflow_coordination.duties.retention.hiding import hide, restore
from airflow_coordination.stores import open_store
from tests.backfills import Month
from tests.integration.stores.stopped_leader import lead
from tests.upkeep import DATASET

pytestmark = pytest.mark.slow
WHO = ("ana", "why")
FIRST = "2013-01-01/P1D"
Goes = Callable[[], str]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def month(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Month]:
    """Three days, of which the first one is hidden and may be deleted at once."""
    fixture = {"sqlite": "sqlite_url", "postgresql": "postgres_store_url"}[request.param]
    store = open_store(request.getfixturevalue(fixture))
    store.setup()
    month = Month(store, tmp_path)
    month.c.supplying.register_dag("ingest")
    month.filled(1, 2, 3)
    set_config(month.c, {"millisToWaitBeforeDeleting": 0}, *WHO)
    hide(month.c, DATASET, FIRST, *WHO)
    yield month
    store.close()


@pytest.fixture
def stopped(month: Month) -> Iterator[Callable[..., Goes]]:
    """Starts leaders, each stopped before a call; what is returned lets it go on, and tells what it said."""
    started: list[subprocess.Popen[str]] = []

    def start(call: str, number: int = 1) -> Goes:
        command = [sys.executable, "-m", "tests.integration.stores.stopped_leader", month.store.reference, call]
        command.append(str(number))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), f"it ended before {call}"

        def goes_on() -> str:
            process.send_signal(signal.SIGCONT)
            out, _ = process.communicate(timeout=60)
            assert process.returncode == 0
            return out

        return goes_on

    yield start
    for each in started:
        if each.poll() is None:
            each.kill()
            each.communicate()


def others_lead(month: Month) -> None:
    """Let another one lead: the lease of who is stopped is taken back."""
    duties = GroupRunner(month.store, "a person").duties
    assert duties.partition("group|G").owner == "late"
    duties.people.release("group|G", *WHO)
    lead(month.store, "new")


def full(month: Month) -> int:
    return sum(bool(head.blocks) for head in month.head_records())


def test_s25_what_was_restored_while_it_was_stopped_stays_and_its_ending_is_refused(month: Month, stopped) -> None:
    goes_on = stopped("look")
    restore(month.c, DATASET, FIRST, *WHO)
    before = month.read()
    others_lead(month)
    assert goes_on().startswith("refused: ")
    assert (month.read(), full(month), month.c.documents.view().hidden) == (before, 3, ())
    assert GroupRunner(month.store, "ana").states()["G"][1].runs == "d", "the run of the other one alone"


@pytest.mark.parametrize(("call", "marked"), [(("look", 1), 0), (("get", 2), 1)], ids=["before", "between"])
def test_s25_what_it_may_not_delete_any_more_stays(month: Month, stopped, call: tuple[str, int], marked: int) -> None:
    """It is stopped before its first write, and between its mark and its retract."""
    goes_on = stopped(*call)
    set_config(month.c, {"killDataSourceWhitelist": ["another"]}, *WHO)
    others_lead(month)
    assert goes_on().startswith("refused: ")
    assert full(month) == 3
    assert sum(each.purging for each in month.c.documents.view().hidden) == marked
