"""Tries mutants in processes of their own, some at a time: each has to import the package anew."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from tests.mutants.catalogue import CONTROLS
from tests.mutants.trial import Verdict

PATIENCE = 240.0
"""Seconds that one trial may take."""


def try_one(name: str) -> Verdict:
    """Try one mutant.

    :raises RuntimeError: when the trial itself fails; a mutant that does not apply says so here.
    """
    command = [sys.executable, "-m", "tests.mutants.trial", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise RuntimeError(f"the trial of {name!r} failed:\n{done.stderr[-2000:]}")
    fields = json.loads(done.stdout)
    return Verdict(**fields | {"seeds": tuple(fields["seeds"])})


def all_tried(names: Iterable[str], jobs: int) -> Iterator[Verdict]:
    """Yield what becomes of each, in the order of their names; ``jobs`` are tried at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(try_one, names)


def is_as_expected(verdict: Verdict) -> bool:
    """Return whether a mutant was caught, and the code as it is was not."""
    return (verdict.caught_by is None) == (verdict.name in CONTROLS)
