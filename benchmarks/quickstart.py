"""W9: ``quickstart --run`` in an empty folder: after how many seconds is a partition seen completed?

That is what the command itself says, from its start: Airflow with its database, the DAG, Spark, the board's answer.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.goals import Reading, Readings
from benchmarks.harness.run import Run
from tests.system.terminal import SHOWN, Terminal

ROUNDS = 3
_WITHIN = 600.0
_THEIRS = ("AIRFLOW", "PYTHON", "VIRTUAL_ENV", "SPARK")


def measured(run: Run) -> Readings:
    """Return the seconds."""
    rounds, seconds = run.scaled(ROUNDS), []
    with run.progress("W9: rounds", rounds) as advance:
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                seconds.append(_seconds(Path(folder)))
            advance()
    shown = f"{median(seconds):.0f} ({min(seconds):.0f}–{max(seconds):.0f})"
    return {"W9": Reading(median(seconds), shown, f"{median(seconds):.0f} s", "")}


def _seconds(folder: Path) -> int:
    empty, home = folder / "empty", folder / "home"
    empty.mkdir()
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_THEIRS)}
    command = [str(Path(sys.executable).with_name("airflow")), "coordination", "quickstart", "--run"]
    terminal = Terminal(command, empty, kept | {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"})
    try:
        return int(terminal.reach(SHOWN, _WITHIN)[1])
    finally:
        if terminal.process.poll() is None:
            terminal.interrupt()
