"""Makes cells of the matrix from nothing, tries what we say of them, and keeps the results.

usage: python -m tests.matrix [--cell NAME] [--steps NAME,NAME] [--again] [--keep]

All cells one after the other, the newest Airflow first. It goes on where it ended: what was tried since anything that
matters changed is not tried again, but for ``--again``. An environment is removed when its steps are over.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.matrix import airflow_names
from tests.matrix.cells import CELLS, Cell, named
from tests.matrix.making import PLACE, ROOT, CannotBeHadError, made
from tests.matrix.results import FILE, MADE, Run, newest, note, read, table
from tests.matrix.steps import Place, Tried, tried, unexpected

MATTERS = (
    *("airflow_coordination", "pyproject.toml", "requirements/cells.in", "scripts/without_airflow.py"),
    *("tests/unit", "tests/integration/board"),
    *(f"tests/matrix/{name}.py" for name in ("making", "steps", "load_modules", "airflow_names")),
)
"""What a run says something about. The table in README is no part of it, nor is which cells there are besides."""
LEAST = 15_000_000_000
"""Bytes that must be free before another environment is made."""


def main() -> int:
    """Try what is to be tried, print the table, and return how many steps failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__.splitlines()[0])
    parser.add_argument("--cell", help="only this one")
    parser.add_argument("--steps", help="only these, separated by commas")
    parser.add_argument("--again", action="store_true", help="also what was tried since anything changed")
    parser.add_argument("--keep", action="store_true", help="leave the environment")
    args = parser.parse_args()
    cells = [named(args.cell)] if args.cell else list(CELLS)
    wanted = set(args.steps.split(",")) if args.steps else None
    commit = _spoken_of(_commit())
    failed = sum(_try_cell(cell, commit, wanted, again=args.again, keep=args.keep) for cell in cells)
    print(table())
    return min(failed, 1)


def _commit() -> str:
    """Return the commit that is tried.

    :raises SystemExit: when something is not committed: nobody could say what was tried.
    """
    kept = [f":!{file.relative_to(ROOT)}" for file in (FILE, airflow_names.FILE)]
    if found := _git("status", "--porcelain", "--", ".", *kept):
        raise SystemExit(f"Commit first; this is not:\n{found}")
    return _git("rev-parse", "HEAD")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _spoken_of(commit: str) -> str:
    """Return the commit that new runs are kept under: the newest run's, as long as nothing that matters has changed.

    Else a page that lands between two cells would leave each of them green on a commit of its own.
    """
    before = newest(read())
    return before if before and _stands(before, commit) else commit


def _stands(before: str, commit: str) -> bool:
    """Return whether nothing that matters has changed between two commits."""
    command = ["git", "diff", "--quiet", before, commit, "--", *MATTERS]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


def _try_cell(cell: Cell, commit: str, wanted: set[str] | None, *, again: bool, keep: bool) -> int:
    """Try the steps of a cell that are due; return how many failed."""
    before = {run.step: run for run in read() if run.cell == cell.name}
    chosen = [step for step in cell.steps if wanted is None or step in wanted]
    due = [step for step in chosen if again or step not in before or not _stands(before[step].commit, commit)]
    if not due:
        print(f"{cell.name}: nothing to do", flush=True)
        return 0
    if not _room():
        raise SystemExit(f"{cell.name}: less than {LEAST // 10**9} GB are free. Free some, and run this again")
    try:
        python = _make(cell, commit)
        return 1 if python is None else sum(not _try_step(cell, step, python, commit) for step in due)
    finally:
        if not keep:
            shutil.rmtree(PLACE / cell.name, ignore_errors=True)


def _room() -> bool:
    """Return whether an environment fits; what no environment needs any more is given back only where none does."""
    if shutil.disk_usage(ROOT).free >= LEAST:
        return True
    subprocess.run([Path(sys.executable).with_name("uv"), "cache", "prune", "--quiet"], check=False)
    return shutil.disk_usage(ROOT).free >= LEAST


def _make(cell: Cell, commit: str) -> Path | None:
    """Make a cell's environment and keep how that ended; ``None`` where it could not be made: other cells may be."""
    begun = time.monotonic()
    python, said = None, ""
    try:
        python = made(cell)
    except CannotBeHadError as error:
        said = str(error)
    except Exception as error:
        said = unexpected(error)
    _keep(cell, MADE, Tried(python is not None, said, round(time.monotonic() - begun)), commit)
    return python


def _try_step(cell: Cell, step: str, python: Path, commit: str) -> bool:
    logs = ROOT / ".work" / "matrix"
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / f"{cell.name}.{step}.log"
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="cell-", ignore_cleanup_errors=True) as work:
        ended = tried(step, Place(cell, python, Path(work), log))
    _keep(cell, step, ended, commit)
    return ended.ok


def _keep(cell: Cell, step: str, ended: Tried, commit: str) -> None:
    said = " ".join(ended.said.split())
    for place, short in ((PLACE, "cells"), (ROOT, "."), (Path.home(), "~")):
        said = said.replace(str(place), short)
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    note(Run(cell.name, step, "ok" if ended.ok else "failed", said, str(ended.seconds), commit, day))
    print(f"{cell.name} {step}: {'ok' if ended.ok else 'FAILED'} after {ended.seconds} s: {said}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
