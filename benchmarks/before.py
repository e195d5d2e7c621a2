"""P20: this package beside itself as it was before its house was rebuilt, in turn within one run.

The package of then comes out of git into a folder with today's benchmarks; processes that run there import it. What
both sides do is written with names that both have.
"""

from __future__ import annotations

import dataclasses
import io
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from airflow_coordination.values.input_errors import InvalidInputError
from benchmarks.goals import Readings
from benchmarks.harness.postgres import Cluster, plain
from benchmarks.harness.run import Run
from benchmarks.harness.systems import ROOT, Spec, Team
from benchmarks.harness.turns import rotated
from benchmarks.postgresql.systems import ours
from benchmarks.report import beside, show
from benchmarks.spark.rounds import in_turn, reading
from tests.engines.postgres import fresh_database, private_postgres

COMMIT: Final = "147c332b57576144c713bdfcf876b8e4196b1a05"
ROWS: Final = 60_000
_BOTH: Final = "benchmarks.spark.both"
_ROUNDS: Final = {"drained": (15, 2), "submit": (6, 1), "read": (5, 1)}
"""Of each aim of Spark's, and how many go before."""


def benchmark(run: Run) -> Readings:
    """Measure; there is nothing to count here."""
    if run.quick:
        return run.nothing_to_count()
    with package_of(COMMIT) as folder:
        with Cluster() as cluster:
            found = _cycles(run, cluster, folder, "P20 acquire", "queued", processes=1, rounds=60, cycles=30)
            found |= _cycles(run, cluster, folder, "P20 fused", "fused", processes=16, rounds=20, cycles=20)
        return found | _in_spark(run, folder)


@contextmanager
def package_of(commit: str) -> Iterator[Path]:
    """Give a folder with the package of a commit, beside today's benchmarks and what those import.

    :raises InvalidInputError: when this clone has not got the commit.
    """
    command = ["git", "archive", "--format=tar", commit, "airflow_coordination"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if made.returncode:
        problem = f"is not in this clone: {made.stderr.decode().strip()}"
        raise InvalidInputError("commit", commit, problem, "Clone with all of the history (git fetch --unshallow)")
    with tempfile.TemporaryDirectory(prefix="before-") as made_in:
        folder = Path(made_in)
        with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
            archive.extractall(folder, filter="data")
        for name in ("benchmarks", "scripts", "tests"):
            (folder / name).symlink_to(ROOT / name)
        yield folder


def _sides(spec: Spec, folder: Path) -> tuple[Spec, Spec]:
    """Return a system of today's, and the same of then with rows of its own: the tables are others."""
    now = dataclasses.replace(spec, name="now", rows="now")
    return now, dataclasses.replace(now, name="before", rows="before", root=folder)


def _cycles(
    run: Run, cluster: Cluster, folder: Path, aim: str, mode: str, *, processes: int, rounds: int, cycles: int
) -> Readings:
    sides, rows, number = _sides(ours(mode), folder), run.scaled(ROWS, 20_000), run.scaled(rounds, 3)
    with ExitStack() as stack, run.progress(f"{aim}: rounds", number) as advance:
        teams = [stack.enter_context(cluster.team(spec, rows, processes)) for spec in sides]
        for team in teams:
            team.do(cycles=60)
        measured = rotated(cluster, teams, rounds=number, cycles=cycles, advance=advance)
    show(run, f"{aim}: {number} slices of {cycles} cycles, {processes} processes", measured)
    return {aim: beside(measured, *sides)}


def _in_spark(run: Run, folder: Path) -> Readings:
    found: Readings = {}
    with private_postgres() as cluster, tempfile.TemporaryDirectory() as place:
        for what, (rounds, warm) in _ROUNDS.items():
            with ExitStack() as stack:
                ways: dict[str, Callable[[int], object]] = {}
                for side in _sides(Spec(what, f"{_BOTH}:{what.title()}", what), folder):
                    url = plain(stack.enter_context(fresh_database(cluster)))
                    team = Team(side, url=url, folder=f"{place}/{what}/{side.name}", root=str(side.root))
                    stack.callback(team.kill)
                    ways[side.name] = lambda _, team=team: team.do(cycles=1)
                seconds = in_turn(run, f"P20 {what}", ways, run.scaled(rounds, 2), warm)
                found |= reading(f"P20 {what}", seconds["now"], seconds["before"])
    return found
