"""``duties run`` and ``duties status``: once, at once, dry, and until the process is stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from airflow_coordination.duties.groups.running import GroupRunner
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.stores import open_store
from tests.backfills import Month
from tests.unit.cli.on_a_store import cli_on
from tests.upkeep import DATASET

MANAGEMENT = "HistoricalManagementDuties"
HIDE_ONE = '[{"type": "dropByInterval", "interval": "2013-01-01/P1D"}, {"type": "loadForever"}]'


@pytest.fixture
def month(tmp_path: Path) -> Month:
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    store.setup()
    month = Month(store, tmp_path)
    month.c.supplying.register_dag("ingest")
    month.filled(1, 2)
    set_rules(month.c, DATASET, HIDE_ONE, "ana", "why")
    return month


@pytest.fixture
def duties(month, capsys, tmp_path):
    """Run a command of ``duties`` with Druid's properties; return exit code, rows and standard error."""
    typed = cli_on(month.store, capsys)
    properties = tmp_path / "runtime.properties"

    def run(name: str, *options: str, said: str = "druid.coordinator.startDelay=PT0S\n"):
        properties.write_text(said)
        file = ("--properties", str(properties)) if name == "run" else ()
        code, out, err = typed("duties", name, "-o", "json", *file, *options)
        return code, json.loads(out or "[]"), err

    return run


def test_before_anything_was_run_the_status_says_how_to_begin(duties):
    code, rows, err = duties("status")
    assert (code, rows) == (0, [])
    assert "duties run" in err


def test_each_group_is_run_once_and_its_status_says_what_became_of_it(duties, month):
    code, rows, _ = duties("run", "--once", "--group", MANAGEMENT)
    assert code == 0
    [ruled] = [row for row in rows if row["duty"] == "runRules"]
    assert ruled["result"] == "done"
    assert set(month.read()) == {"2013-01-02 old"}
    code, rows, err = duties("run", "--once", "--group", MANAGEMENT)
    assert (code, rows) == (0, [])
    assert "is not due until" in err
    code, rows, _ = duties("status")
    assert code == 0
    [ruled] = [row for row in rows if row["duty"] == "runRules"]
    assert ruled["said"].startswith("hid 1 partition(s)")
    assert ruled["led_by"] is None
    assert ruled["next_run"] > ruled["last_run"]


def test_now_runs_what_is_not_due(duties):
    duties("run", "--once", "--group", MANAGEMENT)
    code, rows, _ = duties("run", "--now", "--group", MANAGEMENT, "--why", "a new rule", "--by", "ana")
    assert code == 0
    assert [row["result"] for row in rows if row["duty"] == "runRules"] == ["nothing to do"]


def test_a_dry_run_says_what_each_duty_would_do(duties, month):
    code, rows, _ = duties("run", "--dry-run", "--group", MANAGEMENT)
    assert code == 0
    [ruled] = [row for row in rows if row["duty"] == "runRules"]
    assert ruled["said"].startswith("would hide 1 partition(s)")
    assert len(month.read()) == 2
    assert duties("status")[1] == []


def test_a_new_group_waits_for_druids_start_delay(duties):
    code, rows, err = duties("run", "--once", "--group", MANAGEMENT, said="")
    assert (code, rows) == (0, [])
    assert "is not due until" in err


def test_a_duty_that_fails_is_an_exit_code_and_a_line_of_the_status(duties, month):
    said = 'druid.coordinator.startDelay=PT0S\ndruid.coordinator.dutyGroups=["old"]\n'
    said += 'druid.coordinator.old.duties=["killStalePending"]\ndruid.coordinator.old.period=PT1H\n'
    said += "druid.coordinator.old.duty.killStalePending.olderThan=P1M\n"
    said += f"druid.coordinator.old.duty.killStalePending.outputRoot={month.root}\n"
    said += "druid.coordinator.old.duty.killStalePending.period=P1D\n"
    run = GroupRunner(month.store, "a test")
    code, _, err = duties("run", "--once", "--group", "old", said=said)
    assert code == 1
    assert "killStalePending" in err
    assert run.states()["old"][1].of("killStalePending").fails == 1
    code, _, err = duties("status")
    assert code == 1
    assert "killStalePending of old" in err


def test_a_group_that_is_gone_from_the_properties_can_be_forgotten(duties):
    said = 'druid.coordinator.startDelay=PT0S\ndruid.coordinator.dutyGroups=["old"]\n'
    said += 'druid.coordinator.old.duties=["collectStats"]\ndruid.coordinator.old.period=PT1H\n'
    duties("run", "--once", "--group", "old", said=said)
    assert {row["group"] for row in duties("status")[1]} == {"old"}
    assert "Did you mean 'old'?" in duties("forget", "odl", "--why", "it is gone", "-y")[2]
    code, _, err = duties("forget", "old", "--why", "it is gone", "-y")
    assert (code, "is forgotten" in err) == (0, True)
    assert duties("status")[1] == []


def test_a_warning_is_said_once(duties):
    _, _, err = duties("run", "--once", "--group", "IndexingServiceDuties")
    assert err.count("no output root is known") == 1


def test_a_group_or_a_file_that_there_is_not_is_named(duties):
    assert "HistoricalManagementDuties" in duties("run", "--once", "--group", "HistoricalManagementDutie")[2]
    code, _, err = duties("run", "--once", "--properties", "/no/such/file")
    assert code == 1
    assert "/no/such/file" in err


def test_it_runs_until_the_process_is_stopped_and_ends_what_it_has_begun(month, tmp_path):
    """A process of its own, as somebody has it on a host without Airflow."""
    properties = tmp_path / "runtime.properties"
    properties.write_text("druid.coordinator.startDelay=PT0S\n")
    command = [sys.executable, "-m", "airflow_coordination", "duties", "run", "--properties", str(properties)]
    process = subprocess.Popen([*command, "--store", month.store.reference], stderr=subprocess.PIPE, text=True)
    try:
        states = GroupRunner(month.store, "a test").states
        until = time.monotonic() + 60
        while MANAGEMENT not in (found := states()) or found[MANAGEMENT][1].ran_at is None:
            assert time.monotonic() < until, "it has not run"
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(60) == 0
        said = process.stderr.read()
    finally:
        process.kill()
    assert "Stopping when the runs that have begun are done." in said
    assert set(month.read()) == {"2013-01-02 old"}
