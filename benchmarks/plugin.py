"""P16: what the board's plugin costs a process of a task, all of which load it."""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median

from benchmarks.goals import Reading, Readings
from benchmarks.harness.run import Run

ROUNDS = 15
_LOADED = """
import json, sys, time
from airflow.sdk.plugins_manager import AirflowPlugin
before, known = time.process_time(), len(sys.modules)
from airflow_coordination.board.plugin import CoordinationPlugin
apps = CoordinationPlugin.react_apps
print(json.dumps([(time.process_time() - before) * 1000, len(sys.modules) - known]))
"""


def benchmark(run: Run) -> Readings:
    """Load it in new processes."""
    rounds = 1 if run.quick else run.scaled(ROUNDS, 3)
    taken = []
    with run.progress("P16: processes", rounds) as advance:
        for _ in range(rounds):
            command = [sys.executable, "-c", _LOADED]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            taken.append(json.loads(done.stdout.splitlines()[-1]))
            advance()
    milliseconds, modules = median(each[0] for each in taken), max(each[1] for each in taken)
    run.console.print(f"Loading the plugin: {milliseconds:.1f} ms CPU, {modules} modules")
    if run.quick:
        return {}
    return {"P16": Reading(milliseconds, f"{milliseconds:.1f}", f"{modules} modules")}
