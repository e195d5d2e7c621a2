"""The runs of the matrix as they are kept, and what README and the docs show of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final

from tests.matrix.cells import CELLS, Cell

FILE: Final = Path(__file__).with_name("results.tsv")
MADE: Final = "made"
"""The step before all others: the environment. Where it fails, the cell cannot be had here."""


@dataclass(frozen=True, slots=True)
class Run:
    """One step of one cell, as it ended last.

    :param cell: its name.
    :param step: what was tried.
    :param verdict: ``ok`` or ``failed``.
    :param said: the line it ended with.
    :param seconds: that it took.
    :param commit: of this repository, all of it committed.
    :param day: when.
    """

    cell: str
    step: str
    verdict: str
    said: str
    seconds: str
    commit: str
    day: str


def read(file: Path = FILE) -> list[Run]:
    """Return the runs, in the order in which they were made."""
    lines = file.read_text().splitlines()[1:] if file.exists() else []
    return [Run(*line.split("\t")) for line in lines]


def note(run: Run, file: Path = FILE) -> None:
    """Keep a run in place of the one before of the same step."""
    others = [each for each in read(file) if (each.cell, each.step) != (run.cell, run.step)]
    rows = ["\t".join(field.name for field in fields(Run)), *("\t".join(astuple(each)) for each in (*others, run))]
    file.write_text("\n".join(rows) + "\n")


def commit_of(runs: Iterable[Run]) -> str:
    """Return the commit that is spoken of: most cells are green on it; of equals the newest, of none empty."""
    runs = list(runs)
    commits = dict.fromkeys(run.commit for run in reversed(runs))
    return max(commits, key=lambda commit: sum(green(cell, runs, commit) for cell in CELLS), default="")


def newest(runs: Iterable[Run]) -> str:
    """Return the commit of the newest run, empty where there is none."""
    return next((run.commit for run in reversed(list(runs))), "")


def green(cell: Cell, runs: Iterable[Run], commit: str) -> bool:
    """Return whether each step of a cell was tried on a commit and did what it should."""
    found = {run.step for run in runs if run.cell == cell.name and run.commit == commit and run.verdict == "ok"}
    return {MADE, *cell.steps} <= found


def table() -> str:
    """Return the table of the docs, with the commit that it is about."""
    runs = read()
    commit = commit_of(runs)
    rows = [f"| `{cell.name}` | {_versions(cell)} | {_verdict(cell, runs, commit)} |" for cell in CELLS]
    head = ["| cell | Airflow, pyspark | what was tried |", "| --- | --- | --- |"]
    return f"On commit `{commit[:12]}`:\n\n" + "\n".join([*head, *rows]) + "\n"


def sentence() -> str:
    """Return what README says: the cells that are green on one commit, and which commit that is."""
    runs = read()
    commit = commit_of(runs)
    whole = [f"`{cell.name}`" for cell in CELLS if green(cell, runs, commit)]
    return f"Green on commit `{commit[:12]}`: {', '.join(whole) or 'none'}.\n"


def _versions(cell: Cell) -> str:
    airflow = "no Airflow" if cell.airflow is None else f"Airflow {cell.airflow.version}"
    return f"{airflow}, pyspark {cell.spark}" + (", each requirement as old as allowed" if cell.lowest else "")


def _verdict(cell: Cell, runs: list[Run], commit: str) -> str:
    mine = {run.step: run for run in runs if run.cell == cell.name}
    if not mine:
        return "not run"
    own = mine[MADE].commit
    if green(cell, runs, own):
        return f"green{_when(own, commit)}: {', '.join(cell.steps)}"
    if mine[MADE].verdict != "ok":
        return f"cannot be had: {_escaped(mine[MADE].said)}"
    return "; ".join(_step(step, mine.get(step), commit) for step in cell.steps)


def _when(commit: str, spoken_of: str) -> str:
    return "" if commit == spoken_of else f" on `{commit[:12]}`"


def _step(name: str, run: Run | None, commit: str) -> str:
    if run is None:
        return f"{name} not run"
    return f"{name} {run.verdict}{_when(run.commit, commit)}" + (
        f" ({_escaped(run.said)})" if run.verdict != "ok" else ""
    )


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
