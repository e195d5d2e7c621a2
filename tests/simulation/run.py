"""One seed, one run: faults, then calm, then what must hold of its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from airflow_coordination.testing.history import (
    Kind,
    Told,
    Violation,
    check,
    metrics_are_exact,
    pauses_hold,
    the_global_state_grows,
    work_is_not_denied,
)
from airflow_coordination.testing.history.check import not_noted
from tests.simulation.faults import Fault
from tests.simulation.processes import Finisher, start_all
from tests.simulation.setup import SOURCE_ID, Setup
from tests.simulation.stores import MakeStore

SETTLING = 400.0
"""Seconds until all that was under way when the faults ended is over."""
PATIENCE = 7200.0
"""Seconds within which everything must come to an end then (promise L1)."""


@dataclass
class Report:
    """What became of one seed.

    :param operations: calls in the history.
    :param told: how often each kind of call was told what.
    """

    seed: int
    operations: int = 0
    told: Counter[tuple[Kind, Told]] = field(default_factory=Counter)
    faults: Counter[Fault] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)


def simulate(seed: int, make_store: MakeStore) -> Report:
    """Run one seed on a new store, and return what became of it."""
    setup = Setup(seed, make_store)
    try:
        run_phases(setup)
        return _report(seed, setup)
    finally:
        setup.clear()


def run_phases(setup: Setup) -> None:
    """Let everybody work under faults, then the finisher without."""
    start_all(setup)
    setup.world.run(setup.end)
    setup.running, setup.weather.calm = False, True
    setup.network.silent_until = 0.0
    setup.world.run(setup.end + SETTLING)
    Finisher(setup)
    setup.world.run(setup.end + SETTLING + PATIENCE)


def _report(seed: int, setup: Setup) -> Report:
    calls = setup.log.operations
    return Report(
        seed,
        len(calls),
        Counter((made.kind, made.told) for made in calls),
        setup.weather.counts,
        list(violations(setup)),
    )


def violations(setup: Setup) -> Iterator[Violation]:
    """Yield what a run breaks."""
    calls = setup.log.operations
    yield from check(calls, setup.settings, setup.store.behind)
    if setup.store.is_exact:
        yield from work_is_not_denied(calls, setup.network.heard_until)
    yield from pauses_hold(calls, setup.store.hears_of_a_pause_within)
    yield from the_global_state_grows(calls, lambda state: float(state["cursor"]))
    for process, _, coordinator in setup.started:
        if not process.dead:
            yield from metrics_are_exact(calls, process.name, coordinator.short_counts())
    if not setup.finished:
        yield Violation("L1", "not everything has come to an end")
    yield from _all_listed_exist(setup)
    yield from (Violation("S27", problem) for problem in not_noted(calls, setup.store.plain, SOURCE_ID))
    yield from (Violation("X11", problem) for problem in setup.store.unremembered(SOURCE_ID))


def _all_listed_exist(setup: Setup) -> Iterator[Violation]:
    gone = {made.key for made in setup.log.operations if made.kind in (Kind.DELETE, Kind.VANISH)}
    last = {made.key: made for made in setup.log.operations if made.kind is Kind.READ and made.told is Told.OK}
    for key in setup.keys:
        if key not in gone and (key not in last or last[key].result["status"] is None):
            yield Violation("S11", f"partition {key!r} was listed and does not exist")
