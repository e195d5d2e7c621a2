"""Tries mutants, each in a child of its own, and says on standard output what caught them.

usage: python -m tests.mutants.trial; every line that comes in is a JSON list of a name and a number of operations,
every line that goes out a verdict, empty if the trial failed. The children share what is imported of libraries:
starting Python anew for each takes longer than most trials.
"""

from __future__ import annotations

import importlib
import io
import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from itertools import chain, count
from typing import Final

from tests.mutants.catalogue import CONTROLS, MUTANTS
from tests.mutants.hook import install
from tests.mutants.mutant import Mutant, Simulated, Tested

LIBRARIES: Final = (
    "alembic",
    "boto3",
    "greenlet",
    "hypothesis",
    "moto",
    "psycopg",
    "pytest",
    "sqlalchemy.dialects.sqlite",
)
"""What most trials import, and nothing that imports the package."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant.

    :param name: the mutant's.
    :param caught_by: the promise or the test that failed, ``None`` when it survived.
    :param what: what was seen, for people.
    :param operations: calls until then; 0 for a test.
    :param seconds: processor time until then, without starting Python.
    """

    name: str
    caught_by: str | None
    what: str = ""
    operations: int = 0
    seeds: tuple[int, ...] = ()
    seconds: float = 0.0


def simulated(name: str, catcher: Simulated, most: int | None = None) -> Verdict:
    """Run seeds until one shows a violation, or the operations are used up."""
    from tests.simulation.run import simulate
    from tests.simulation.stores import STORES

    began, operations, tried = time.process_time(), 0, list[int]()
    for seed in _seeds(catcher):
        tried.append(seed)
        try:
            report = simulate(seed, STORES[catcher.store])
        except Exception as crash:  # the protocol's own errors are told to callers; nothing else may come out
            caught, what = f"crash: {type(crash).__name__}", f"{crash}"
        else:
            operations += report.operations
            first = next(iter(report.violations), None)
            caught, what = (first.promise, str(first)) if first else ("", "")
        if caught or operations >= (most or catcher.operations):
            return Verdict(name, caught or None, what, operations, tuple(tried), time.process_time() - began)
    raise AssertionError("there is always one more seed")


def _seeds(catcher: Simulated) -> Iterator[int]:
    return chain(catcher.seeds, (seed for seed in count() if seed not in catcher.seeds))


def tested(name: str, catcher: Tested) -> Verdict:
    """Run the test."""
    import pytest

    began, said = time.process_time(), io.StringIO()
    with redirect_stdout(said):
        code = pytest.main([catcher.node, "-q", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=short"])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"{catcher.node} cannot be run: {code!r}\n{said.getvalue()}")
    caught = catcher.node.rpartition("/")[2] if code is pytest.ExitCode.TESTS_FAILED else None
    return Verdict(name, caught, seconds=time.process_time() - began)


def tried(mutant: Mutant, most: int | None = None) -> Verdict:
    """Put the mutant in its place, and look who notices."""
    install(mutant)
    if isinstance(mutant.catcher, Tested):
        verdict = tested(mutant.name, mutant.catcher)
    else:
        verdict = simulated(mutant.name, mutant.catcher, most)
    if mutant.full_module not in sys.modules:
        raise RuntimeError(f"nothing has imported {mutant.full_module}")
    return verdict


def verdict_on(name: str, most: int | None) -> Verdict:
    """Try one, or let the code as it is run in the place of one."""
    logging.disable()
    if control := CONTROLS.get(name):
        return simulated(name, control, most)
    return tried(next(mutant for mutant in MUTANTS if mutant.name == name), most)


def try_in_child(name: str, most: int | None) -> None:
    """Print the verdict, or nothing if there is none."""
    if child := os.fork():
        os.waitpid(child, 0)
        return
    try:
        print(json.dumps(asdict(verdict_on(name, most))), end="", flush=True)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


def main() -> None:
    """Try what is asked for until nobody asks any more."""
    for library in LIBRARIES:
        importlib.import_module(library)
    for line in sys.stdin:
        try_in_child(*json.loads(line))
        print(flush=True)


if __name__ == "__main__":
    main()
