"""P18: a month of small files, merged by this package, by Delta's ``OPTIMIZE`` and by Iceberg's ``rewrite_data_files``.

Each system runs in a Spark process of its own; they take turns, in an order drawn anew for each round, each round on a
new table: read, compact, read again. Then each compacts one table several times while one writer adds to partitions and
one replaces others, and what fails is counted by the class of its exception. A writer that fails tries again.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from airflow_coordination import open_store
from benchmarks.compaction import month
from benchmarks.compaction.race import EVERY
from benchmarks.goals import Reading, Readings
from benchmarks.harness.figures import of_pairs
from benchmarks.harness.run import Run
from benchmarks.harness.systems import ROOT
from scripts.java_packages import jars
from tests.engines.postgres import fresh_database, private_postgres

ROUNDS, WARM, WRITES = 3, 1, 24
_OURS, _DELTA, _ICEBERG = "ours", "Delta", "Iceberg"
_PEERS = {_DELTA: "delta", _ICEBERG: "iceberg"}
_ICEBERGS_PYTHON = ROOT / ".work/iceberg/bin/python"
_STEPS = ("read before", "compact", "read after")
Took = dict[str, dict[str, list[dict[str, float]]]]
"""By system and step, what each round took."""
Races = dict[str, dict[str, Any]]


def benchmark(run: Run) -> Readings:
    """Measure; a short run counts files and what fails."""
    with tempfile.TemporaryDirectory() as folder, _systems(Path(folder)) as systems:
        place = Path(folder, "month")
        rows = month.write(place, run.scaled(month.PARTITIONS, 20))
        took = {} if run.quick else _measured(run, systems, rows)
        races = _races(run, systems, place, 8 if run.quick else run.scaled(WRITES, 8))
    return _failed(races) | (_ratios(took) if took else {})


class Process:
    """One system's process, and what it answers."""

    def __init__(self, python: Path, made: str, options: dict[str, str]) -> None:
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        kept = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
        self._process = subprocess.Popen(
            [str(python), "-m", "benchmarks.compaction.child", made, json.dumps(options)],
            cwd=ROOT,
            env=kept | {"PYTHONPATH": str(ROOT), "PATH": path, "PYSPARK_PYTHON": str(python)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._made = made

    def answer(self) -> Any:
        """Return what it says next."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self._made} ended: what it said is above")
        return json.loads(line)

    def ask(self, do: str, **given: Any) -> Any:
        """Let it do something."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **given}) + "\n")
        self._process.stdin.flush()
        return self.answer()

    def end(self) -> None:
        """Let it end, at once if it does not."""
        try:
            self._process.communicate(timeout=60)
        finally:
            self._process.kill()


Systems = dict[str, Process]


@contextmanager
def _systems(folder: Path) -> Iterator[Systems]:
    with private_postgres() as cluster, fresh_database(cluster) as url, ExitStack() as ending:
        store = open_store(url)
        store.setup()
        store.close()
        month, python = str(folder / "month"), Path(sys.executable)
        user, _, address = url.partition("://")[2].partition("@")
        catalog = f"jdbc:postgresql://{address}?user={user.partition(':')[0]}"
        wanted = {
            _OURS: (python, "leased:Leased", {"url": url}),
            _DELTA: (python, "delta:Delta", {"jars": str(jars("delta"))}),
            _ICEBERG: (_ICEBERGS_PYTHON, "iceberg:Iceberg", {"jars": str(jars("iceberg")), "catalog": catalog}),
        }
        found: Systems = {}
        for name, (python, made, more) in wanted.items():
            options = {"month": month, "folder": str(folder / made.partition(":")[0])} | more
            found[name] = Process(python, f"benchmarks.compaction.{made}", options)
            ending.callback(found[name].end)
        for each in found.values():
            each.answer()
        yield found


def _measured(run: Run, systems: Systems, rows: int) -> Took:
    took: Took = {name: defaultdict(list) for name in systems}
    files: dict[str, list[list[int]]] = {}
    order, rounds = list(systems), run.scaled(ROUNDS, 2)
    with run.progress("P18: rounds", WARM + rounds) as advance:
        for number in range(WARM + rounds):
            random.shuffle(order)
            for name in order:
                each, counted = _round(systems[name], f"t{number}", rows)
                files[name] = counted
                for step, answer in each.items() if number >= WARM else ():
                    took[name][step].append(answer)
            advance()
    _show(run, took, files)
    return took


def _round(system: Process, table: str, rows: int) -> tuple[dict[str, Any], list[list[int]]]:
    """Fill a table, read it, compact it and read it again; of two readings the second counts."""
    system.ask("fill", table=table)
    files, took = [system.ask("files", table=table)["answer"]], {}
    for step in _STEPS:
        if step == "compact":
            took[step] = system.ask("compact", table=table)
            files.append(system.ask("files", table=table)["answer"])
            continue
        answers = [system.ask("read", table=table) for _ in range(2)]
        assert [answer["answer"] for answer in answers] == [rows] * 2
        took[step] = answers[1]
    assert files[1][0] < files[0][0], files
    return took, files


def _show(run: Run, took: Took, files: dict[str, list[list[int]]]) -> None:
    columns = [f"{step}{unit}" for step in _STEPS for unit in (", s", ": CPU")]
    title = f"A month, {len(next(iter(took.values()))['compact'])} rounds; medians"
    table = run.table(title, "system", *columns, "files", "KB")
    for name, steps in took.items():
        figures = [f"{_middle(steps[step], kind):.2f}" for step in _STEPS for kind in ("wall", "cpu")]
        (count, size), (less, smaller) = files[name]
        table.add_row(name, *figures, f"{count} → {less}", f"{size / 1e3:,.0f} → {smaller / 1e3:,.0f}")
    run.console.print(table)


def _middle(answers: list[dict[str, float]], kind: str) -> float:
    return median(answer[kind] for answer in answers)


def _races(run: Run, systems: Systems, place: Path, writes: int) -> Races:
    """Let each compact while it ingests, each partition written once; and see that no row is lost or doubled."""
    keys = sorted(path.name for path in place.iterdir())
    each = len(keys) // writes
    planned = [(key, 1 + number % 2) for number, key in enumerate(keys[: each * writes : each])]
    expected = _expected(place, planned)
    title = f"{writes} writes, a compaction each {EVERY}"
    shown = run.table(title, "system", "s", "compactions", "failed")
    found: Races = {}
    for name, system in systems.items():
        for table in ("warm", "race"):
            system.ask("fill", table=table)
        system.ask("compact", table="warm")
        race = found[name] = system.ask("race", table="race", writes=planned)
        failed = ", ".join(f"{count} × {what}" for what, count in sorted(race["failed"].items())) or "none"
        shown.add_row(name, f"{race['wall']:.1f}", str(race["compactions"]), failed)
        editions = {int(edition): count for edition, count in system.ask("editions", table="race")["answer"].items()}
        assert editions == expected or "given up" in failed, (name, editions, expected)
    run.console.print(shown)
    for said in dict.fromkeys(said for race in found.values() for said in race["said"]):
        run.console.print(said.partition("\n")[0], style="dim", markup=False)
    return found


def _expected(place: Path, planned: list[tuple[str, int]]) -> dict[int, int]:
    """Return how many rows of each edition there are when all is written."""
    rows = {path.name: month.rows(path) for path in place.iterdir()}
    written = {wanted: sum(rows[key] for key, edition in planned if edition == wanted) for wanted in (1, 2)}
    return {0: sum(rows.values()) - written[1]} | written


def _failed(races: Races) -> Readings:
    counts = {name: sum(race["failed"].values()) for name, race in races.items()}
    said = {name: f"{counts[name]} beside {race['compactions']} compactions" for name, race in races.items()}
    theirs = "; ".join(f"{name}: {said[name]}" for name in _PEERS)
    return {"P18 failed": Reading(counts[_OURS], str(counts[_OURS]), said[_OURS], theirs)}


def _ratios(took: Took) -> Readings:
    ours = took[_OURS]
    found = {"P18 faster": _beside(ours["read before"], ours["read after"], "wall")}
    for name, short in _PEERS.items():
        for step in ("compact", "read after"):
            for kind in ("wall", "cpu"):
                aim = f"P18 {short} {step.partition(' ')[0]} {kind}"
                found[aim] = _beside(ours[step], took[name][step], kind)
    return found


def _beside(one: list[dict[str, float]], other: list[dict[str, float]], kind: str) -> Reading:
    found = of_pairs([mine[kind] / theirs[kind] for mine, theirs in zip(one, other, strict=True)])
    return Reading(found.middle, str(found), f"{_middle(one, kind):.2f} s", f"{_middle(other, kind):.2f} s")
