"""The parts of the proof. Each begins where the ledger ends, and comes back when its time is over."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.branching.batch import run as branch
from tests.branching.duties import run as run_duties
from tests.left_out import LeftOut, digest_of
from tests.merging.batch import Tally as Merged
from tests.merging.batch import run as merge
from tests.mutants.catalogue import CONTROLS
from tests.mutants.plain.trial import tried
from tests.mutants.runner import all_tried, is_as_expected
from tests.mutants.selection import EVERY
from tests.proof import lines
from tests.proof.ledger import Ledger
from tests.simulation.batch import Tally, run

JOBS: Final = 2
SLICE: Final = 240.0
"""Seconds of one run of real processes; every slice ends with all its work done and checked."""
NOTE_EVERY: Final = 60.0
"""Seconds of simulation that an interruption may cost."""
PROCESSES: Final = ("postgresql",)
"""Where groups merge, and branches show, on real processes; elsewhere they do in virtual time."""
Say = Callable[[str], object]
_AT_THE_END: Final = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


def simulation(store: str, seconds: float, ledger: Ledger, say: Say) -> None:
    """Simulate seeds that were not run yet on the files of today."""
    first = ledger.simulated.begin(store)
    begun = noted = time.monotonic()
    unnoted, operations = Tally(store, first), 0
    for found in run(store, first, sys.maxsize, seconds, JOBS):
        unnoted, operations = unnoted + found, operations + found.operations
        if time.monotonic() - noted > NOTE_EVERY:
            ledger.simulated.add(unnoted, ledger.code)
            noted, unnoted = time.monotonic(), Tally(store, unnoted.first + unnoted.seeds)
            say(f"{operations:,} operations, {operations / (noted - begun):,.0f} a second")
    if unnoted.seeds:
        ledger.simulated.add(unnoted, ledger.code)


def processes(store: str, seconds: float, ledger: Ledger, say: Say) -> None:
    """Let real processes work, slice by slice, each with a seed of its own."""
    seed = max((line["seed"] for line in ledger.lines(f"processes {store}")), default=0)
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 30:
        seed += 1
        with tempfile.TemporaryDirectory() as scratch:
            report = Path(scratch) / "report"
            command = [sys.executable, "-m", "tests.processes", "--store", store, "--json", str(report)]
            subprocess.run([*command, "--seconds", f"{min(SLICE, left):.0f}", "--seed", str(seed)], check=False)
            if not report.exists():
                raise RuntimeError(f"the processes on {store} left no report; run it again: {' '.join(command)}")
            figures = json.loads(report.read_text())
        ledger.add(f"processes {store}", figures)
        say(f"{figures['operations']:,} operations, {sum(figures['faults'].values()):,} faults")


def merging(store: str, seconds: float, ledger: Ledger, say: Say) -> None:
    """Let groups merge beside publishers and a collector, with seeds that were not run yet."""
    _beside("merging", merge, store, seconds, ledger, say)


def branching(store: str, seconds: float, ledger: Ledger, say: Say) -> None:
    """Let branches show and intervals be hidden beside publishers and a collector, with seeds that were not run yet."""
    _beside("branching", branch, store, seconds, ledger, say)


def duties(store: str, seconds: float, ledger: Ledger, say: Say) -> None:
    """Let duties run beside all of that, with seeds that were not run yet."""
    _beside("duties", run_duties, store, seconds, ledger, say)


def _beside(
    kind: str, run: Callable[..., Iterator[Merged]], store: str, seconds: float, ledger: Ledger, say: Say
) -> None:
    part = f"{kind} {store}"
    first = max((line["first"] + line["seeds"] for line in ledger.lines(part)), default=0)
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > (30 if store in PROCESSES else 0):
        if store in PROCESSES:
            figures = {"first": first, "seeds": 1, **_on_processes(kind, min(SLICE, left), first)}
        else:
            found = sum(run(store, first, sys.maxsize, min(NOTE_EVERY, left), JOBS), start=Merged(store, first))
            figures = {**vars(found), "violations": [f"seed {seed}: {what}" for seed, what in found.broken]}
        first += figures["seeds"]
        ledger.add(part, figures)
        say(f"{figures['operations']:,} operations, {sum(figures['faults'].values()):,} faults")


def _on_processes(kind: str, seconds: float, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report"
        command = [sys.executable, "-m", f"tests.{kind}", "--store", "postgresql", "--json", str(report)]
        subprocess.run([*command, "--seconds", f"{seconds:.0f}", "--seed", str(seed + 1)], check=False)
        if not report.exists():
            raise RuntimeError(f"the processes left no report; run it again: {' '.join(command)}")
        figures: dict[str, Any] = json.loads(report.read_text())
        return figures


def mutants(ledger: Ledger, say: Say) -> None:
    """Try every mutant, once for each commit; those that a run has tried which was broken off are not tried again."""
    names = [*CONTROLS, *EVERY]
    with ledger.notes("mutants") as notes:
        known = {line["name"]: line for line in lines.read(notes)}
        for verdict in all_tried([name for name in names if name not in known], JOBS):
            told = {"name": verdict.name, "by": verdict.caught_by, "operations": verdict.operations}
            known[verdict.name] = {**told, "expected": is_as_expected(verdict)}
            lines.add(notes, known[verdict.name])
            say(f"{len(known)}/{len(names)} {verdict.name}: {verdict.caught_by or 'nothing caught it'}")
        figures = _figures([known[name] for name in names])
        ledger.add("mutants", figures)
    say(f"{figures['caught']} of {len(EVERY)} mutants were caught")


def _figures(tried: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    wrong = [each["name"] for each in tried if not each["expected"]]
    caught = [each for each in tried if each["by"]]
    return {
        "mutants": len(EVERY),
        "caught": len(caught),
        "equivalent": sum(each["expected"] and not each["by"] and each["name"] not in CONTROLS for each in tried),
        "wrong": wrong,
        "slowest": max((each["operations"] for each in caught), default=0),
        "by": {each["name"]: each["by"] for each in caught},
    }


def plain(module: str, ledger: Ledger, say: Say) -> None:
    """Let mutmut break a plain module, once for each commit."""
    [one] = tried([module], JOBS)
    for mutant in one.new:
        say(f"nothing catches it, and it is not listed: {mutant}")
    for mutant in one.idle:
        say(f"listed, and caught by now: {mutant}")
    figures = {"mutants": one.mutants, "by": dict(one.caught), "wrong": [str(mutant) for mutant in one.new]}
    ledger.add(f"plain {module}", figures)
    say(f"{sum(one.caught.values())} of {one.mutants} mutants were caught")


def model(seconds: float, ledger: Ledger, say: Say) -> None:
    """Explore the model within its wide bounds, each scenario for its share of the time."""
    from tests.model.__main__ import MOST_STATES, runs
    from tests.model.explorer import Explorer

    chosen, ends = list(runs([], wide=True)), time.monotonic() + seconds
    states = edges = complete = 0
    wrong = []
    for number, one in enumerate(chosen):
        share = (ends - time.monotonic()) / (len(chosen) - number)
        result = Explorer(one.world, MOST_STATES, time.monotonic() + share).run()
        states, edges, complete = states + result.states, edges + result.edges, complete + result.complete
        wrong += [one.name] if one.fails(result) else []
    figures = {"scenarios": len(chosen), "complete": complete, "states": states, "edges": edges, "wrong": wrong}
    ledger.add("model", figures)
    say(f"{states:,} states, {edges:,} edges")


def rest(row: LeftOut, ledger: Ledger, say: Say) -> None:
    """Run all tests of which CI tries a part, once for each commit; a run that was broken off goes on."""
    part = f"rest {row.name}"
    with ledger.notes(part) as notes:
        row_of_it = ["-p", "tests.proof.noting", f"--noted={notes}", f"--row={row.name}", *row.places]
        ended = subprocess.run([sys.executable, "-m", "pytest", "-q", *row_of_it], check=False).returncode
        tests = list(lines.read(notes))
        if ended not in _AT_THE_END and not (ended == pytest.ExitCode.NO_TESTS_COLLECTED and tests):
            raise RuntimeError(f"{row.name} did not come to the end; run its tests: pytest {' '.join(row.places)}")
        told = Counter(each["outcome"] for each in tests)
        seconds = round(sum(each["seconds"] for each in tests), 3)
        counts = {"passed": told["passed"], "failed": told["failed"]}
        ledger.add(part, {**counts, "seconds": seconds, "files": digest_of(row)})
    say(f"{told['passed']} passed, {told['failed']} failed")


STORES: Final[Mapping[str, Mapping[str, float]]] = {
    "simulation": {"in_memory": 0.22, "sqlite": 0.09, "dynamodb": 0.09},
    "processes": {"postgresql": 0.24, "sqlite": 0.06, "dynamodb": 0.06},
    "merging": {"in_memory": 0.02, "sqlite": 0.01, "dynamodb": 0.01, "postgresql": 0.06},
    "branching": {"in_memory": 0.02, "sqlite": 0.01, "dynamodb": 0.01, "postgresql": 0.02},
    "duties": {"in_memory": 0.02, "sqlite": 0.01, "dynamodb": 0.01},
}
"""Shares of the time."""
MODEL_SHARE: Final = 0.04
