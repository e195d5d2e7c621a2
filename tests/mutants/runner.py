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
from tests.mutants.equivalent import reason_of
from tests.mutants.mutant import RULE, Tested
from tests.mutants.trial import Verdict

CLUSTER: Final = "COORDINATION_TEST_CLUSTER"
"""Where tests find a server of PostgreSQL that runs already, instead of one of their own: its URL."""
_TEXTS: Final = "tests.mutants.trial"
_RULES: Final = "tests.mutants.kit"


class Bench:
    """A process that tries one mutant after the other; leaving the block ends it.

    :param module: what it runs.
    :param environment: what it is told besides.
    """

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        command = [sys.executable, "-m", module]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
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
    """Yield what becomes of each as soon as it is known; ``jobs`` are tried at a time.

    :raises RuntimeError: when a trial fails itself.
    """
    rules = dict[str, list[str]]()
    texts = list[str]()
    for name in names:
        (rules.setdefault(name.partition("/")[0], []) if name.startswith(RULE) else texts).append(name)
    # Those of one rule go to one process: what has caught one of them catches most of the others.
    yield from _tried(_RULES, list(rules.values()), jobs, {}, operations)
    with _surroundings(texts) as environment:
        yield from _tried(_TEXTS, [[name] for name in texts], jobs, environment, operations)


def _tried(
    module: str, groups: list[list[str]], jobs: int, environment: Mapping[str, str], operations: int | None
) -> Iterator[Verdict]:
    """Yield what becomes of each as soon as it is known; a group at a time in one process, one after the other."""
    if not groups:
        return
    with ExitStack() as stack:
        said: SimpleQueue[Verdict | None] = SimpleQueue()
        free: SimpleQueue[Bench] = SimpleQueue()
        for _ in range(min(jobs, len(groups))):
            free.put(stack.enter_context(Bench(module, environment)))

        def tried(group: list[str]) -> None:
            bench = free.get()
            try:
                for name in group:
                    said.put(bench.tried(name, operations))
            finally:
                said.put(None)
                free.put(bench)

        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        running = [pool.submit(tried, group) for group in groups]
        for _ in groups:
            yield from iter(said.get, None)
        for each in running:
            each.result()


@contextmanager
def _surroundings(names: list[str]) -> Iterator[Mapping[str, str]]:
    """Start what the trials share, and give the environment that tells them."""
    catchers = (mutant.catcher for mutant in MUTANTS if mutant.name in names)
    if not any(isinstance(catcher, Tested) and catcher.postgresql for catcher in catchers):
        yield {}
        return
    from tests.engines.postgres import private_postgres

    with private_postgres(durable=False) as url:
        yield {CLUSTER: url}


def is_as_expected(verdict: Verdict) -> bool:
    """Return whether a mutant was caught, and the code as it is was not; nor one that is known to be as good as it."""
    as_it_is = verdict.name in CONTROLS or reason_of(verdict.name) is not None
    return (verdict.caught_by is None) == as_it_is
