"""Where a process is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_coordination.values import fence as subject
from airflow_coordination.values.fence import whereabouts

TOLD = "from airflow_coordination.values.fence import whereabouts; print(whereabouts())"


def test_e6_processes_of_one_boot_are_told_apart() -> None:
    here = whereabouts("production")
    assert (here.airflow, (here.process or "").partition(".")[0]) == ("production", str(os.getpid()))
    assert whereabouts("production") == here
    told = subprocess.run([sys.executable, "-c", TOLD], capture_output=True, text=True, check=True).stdout
    assert f"boot='{here.boot}'" in told
    assert str(here.process) not in told


def test_e6_where_a_machine_does_not_say_it_the_process_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "_BOOT", Path("/no/such"))
    assert (whereabouts().boot, whereabouts().process) == (None, str(os.getpid()))
