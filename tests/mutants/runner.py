"""Tries mutants in processes of their own, some at a time: each has to import the package anew."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from tests.mutants.catalogue import CONTROLS
from tests.mutants.trial import Verdict

PATIENCE = 900.0
"""Seconds that one trial may take."""


def try_one(name: str, operations: int | None = None) -> Verdict:
    """Try one mutant.

    :param operations: calls that it may take, if not its own number.
    :raises RuntimeError: when the trial itself fails; a mutant that does not apply says so here.
    """
    command = [sys.executable, "-m", "tests.mutants.trial", name, *([str(operations)] if operations else ())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise RuntimeError(f"the trial of {name!r} failed:\n{done.stderr[-2000:]}")
    fields = json.loads(done.stdout)
    return Verdict(**fields | {"seeds": tuple(fields["seeds"])})


def all_tried(names: Iterable[str], jobs: int, operations: int | None = None) -> Iterator[Verdict]:
    """Yield what becomes of each, in the order of their names; ``jobs`` are tried at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda name: try_one(name, operations), names)


def is_as_expected(verdict: Verdict) -> bool:
    """Return whether a mutant was caught, and the code as it is was not."""
    return (verdict.caught_by is None) == (verdict.name in CONTROLS)
