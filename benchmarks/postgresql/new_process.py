"""P1a: a process that starts, acquires one partition by hint and completes it, beside bare psycopg doing the same."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store
from benchmarks.goals import Reading, Readings
from benchmarks.harness.figures import Turn, Turns, cpu, of_pairs, ratio, typical
from benchmarks.harness.postgres import Cluster, cpu_of
from benchmarks.harness.run import Run
from benchmarks.harness.systems import ROOT
from benchmarks.ours import OWNER, SOURCE
from benchmarks.postgresql.one_lease import one_lease
from benchmarks.postgresql.recording import Recording, recorded
from benchmarks.postgresql.systems import ours

ROWS, ROUNDS, WARM = 10_000, 40, 2
"""The first rounds are not measured: they find files that nobody has read yet, and bytecode that is not there."""
_OURS = Path(__file__).with_name("one_lease.py")
_BARE = """\
import sys
import psycopg
connection = psycopg.connect({url!r}, {options})
cursor = connection.cursor()
for text, given, answers, found in {sent!r}:
    cursor.execute(text, given)
    assert cursor.rowcount == found
    if answers:
        cursor.fetchall()
print("done", flush=True)
sys.stdin.readline()
connection.close()
"""
Commands = dict[str, list[list[str]]]
"""Of each program, the arguments of Python in each round."""
_PYTHON = 'import sys; print("done", flush=True); sys.stdin.readline()'


def benchmark(run: Run) -> Readings:
    """Measure; with ``quick`` count the statements."""
    rounds = 2 if run.quick else run.scaled(ROUNDS, 4)
    spec = ours("hinted")
    with Cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        with cluster.copy(spec, ROWS) as url:
            hints = _hints(url, WARM + rounds)
            sent = [_record(url, hint) for hint in hints]
        counts = {len(recording.parts[0]) for recording in sent}
        run.console.print(f"A new process sends {', '.join(map(str, counts))} statements, those of opening included.")
        if run.quick:
            return {}
        with cluster.copy(spec, ROWS) as mine, cluster.copy(spec, ROWS) as theirs:
            scripts = [_bare(Path(folder) / f"bare_{n}.py", theirs, each) for n, each in enumerate(sent)]
            commands = {
                "ours": [[str(_OURS), mine, SOURCE, OWNER, hint] for hint in hints],
                "bare psycopg": [[str(script)] for script in scripts],
                "Python alone": [["-c", _PYTHON]] * len(hints),
            }
            databases = {"ours": mine.rpartition("/")[2], "bare psycopg": theirs.rpartition("/")[2]}
            turns = _rounds(run, cluster, commands, databases)
    _show(run, turns)
    found = ratio(turns["ours"], turns["bare psycopg"])
    return {"P1a": Reading(found.middle, str(found), *(_milliseconds(turns[name]) for name in databases))}


def _hints(url: str, number: int) -> Sequence[str]:
    store = open_store(url)
    found = SourceCoordinator(store, SOURCE, OWNER).claimable(limit=number)
    store.close()
    return found


def _record(url: str, hint: str) -> Recording:
    """Write down what a new process with this hint sends."""
    with recorded() as recording:
        recording.part(lambda: one_lease(url, SOURCE, OWNER, hint).close())
    return recording


def _bare(path: Path, url: str, recording: Recording) -> Path:
    """Write a program that sends the same; what the file says of the connection is what we say of it."""
    options = ", ".join(f"{name}={value!r}" for name, value in recording.options.items() if name != "cursor_factory")
    options += ", cursor_factory=psycopg.RawCursor"
    path.write_text(_BARE.format(url=url, options=options, sent=recording.parts[0]))
    return path


def _rounds(run: Run, cluster: Cluster, commands: Commands, databases: dict[str, str]) -> dict[str, list[Turn]]:
    turns: dict[str, list[Turn]] = {name: [] for name in commands}
    order = list(commands)
    rounds = len(commands[order[0]])
    with run.progress("P1a: rounds", rounds) as advance:
        for number in range(rounds):
            random.shuffle(order)
            for name in order:
                took = _one(cluster, commands[name][number], databases.get(name))
                if number >= WARM:
                    turns[name].append(took)
            advance()
    return turns


def _one(cluster: Cluster, arguments: Sequence[str], database: str | None) -> Turn:
    """Run one process from its start to its end; its server's CPU is read before the backend ends with it."""
    wal, began = cluster.wal(), time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    if process.stdout.readline() != "done\n":
        raise RuntimeError(f"{arguments} failed: what it said is above")
    wall, wal = time.perf_counter() - began, cluster.wal() - wal
    server = sum(map(cpu_of, cluster.backends_of(database))) if database else 0.0
    process.stdin.write("\n")
    process.stdin.close()
    process.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return Turn(1, used.ru_utime + used.ru_stime, server, wall, wal)


def _show(run: Run, turns: dict[str, list[Turn]]) -> None:
    columns = ("client ms", "server ms", "together", "WAL bytes", "wall ms", "CPU beside bare psycopg")
    table = run.table(f"A new process: {len(turns['ours'])} rounds; medians, CPU", "program", *columns)
    for name, each in turns.items():
        figures = (typical(each, figure) / 1000 for figure in (_client, _server, cpu))
        table.add_row(
            name,
            *(f"{figure:,.1f}" for figure in figures),
            f"{typical(each, lambda turn: turn.wal):,.0f}",
            f"{typical(each, lambda turn: turn.wall) * 1000:,.0f}",
            str(ratio(each, turns["bare psycopg"])),
        )
    run.console.print(table)
    own, theirs, python = (turns[name] for name in ("ours", "bare psycopg", "Python alone"))
    beyond = of_pairs(
        [(mine.cpu - none.cpu) / (bare.cpu - none.cpu) for mine, bare, none in zip(own, theirs, python, strict=True)]
    )
    run.console.print(f"Without what Python itself takes to start: {beyond} ×")


def _client(turn: Turn) -> float:
    return turn.client_cpu


def _server(turn: Turn) -> float:
    return turn.server_cpu


def _milliseconds(turns: Turns) -> str:
    return f"{typical(turns, cpu) / 1000:,.0f} ms"
