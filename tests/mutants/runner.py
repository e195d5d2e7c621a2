"""Tries mutants side by side, each where nothing of the package is imported yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from queue import SimpleQueue
from typing import Final

from tests.mutants.catalogue import CONTROLS, MUTANTS
from tests.mutants.mutant import Tested
from tests.mutants.trial import Verdict

CLUSTER: Final = "COORDINATION_TEST_CLUSTER"
"""Where tests find a server of PostgreSQL that runs already, instead of one of their own: its URL."""
_COMMAND: Final = [sys.executable, "-m", "tests.mutants.trial"]


class Bench:
    """A process that tries one mutant after the other; leaving the block ends it.

    :param environment: what it is told besides.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
        )

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def tried(self, name: str, operations: int | None) -> Verdict:
        """Try one mutant.

        :param operations: calls that it may take, if not its own number.
        :raises RuntimeError: when the trial itself fails; a mutant that does not apply says so on standard error.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([name, operations]), file=self._process.stdin, flush=True)
        said = self._process.stdout.readline()
        if not said.strip():
            raise RuntimeError(f"the trial of {name!r} failed; what went wrong stands above")
        fields = json.loads(said)
        return Verdict(**fields | {"seeds": tuple(fields["seeds"])})


def all_tried(names: Iterable[str], jobs: int, operations: int | None = None) -> Iterator[Verdict]:
    """Yield what becomes of each, in the order of their names; ``jobs`` are tried at a time."""
    with ExitStack() as stack:
        environment = stack.enter_context(_surroundings(names := list(names)))
        free: SimpleQueue[Bench] = SimpleQueue()
        for _ in range(jobs):
            free.put(stack.enter_context(Bench(environment)))

        def tried(name: str) -> Verdict:
            bench = free.get()
            try:
                return bench.tried(name, operations)
            finally:
                free.put(bench)

        yield from stack.enter_context(ThreadPoolExecutor(jobs)).map(tried, names)


@contextmanager
def _surroundings(names: list[str]) -> Iterator[Mapping[str, str]]:
    """Start what the trials share, and give the environment that tells them."""
    catchers = (mutant.catcher for mutant in MUTANTS if mutant.name in names)
    if not any(isinstance(catcher, Tested) and catcher.postgresql for catcher in catchers):
        yield {}
        return
    from tests.engines.postgres import private_postgres

    with private_postgres() as url:
        yield {CLUSTER: url}


def is_as_expected(verdict: Verdict) -> bool:
    """Return whether a mutant was caught, and the code as it is was not."""
    return (verdict.caught_by is None) == (verdict.name in CONTROLS)
