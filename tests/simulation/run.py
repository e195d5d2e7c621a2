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
    the_global_state_grows,
    work_is_not_denied,
)
from tests.simulation.cast import Finisher, enter
from tests.simulation.faults import Fault
from tests.simulation.places import MakePlace
from tests.simulation.stage import Stage

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


def simulate(seed: int, make_place: MakePlace) -> Report:
    """Run one seed on a new store, and return what became of it."""
    stage = Stage(seed, make_place)
    try:
        play(stage)
        return _report(seed, stage)
    finally:
        stage.clear()


def play(stage: Stage) -> None:
    """Let the cast work under faults, then the finisher without."""
    enter(stage)
    stage.world.run(stage.end)
    stage.running, stage.weather.calm = False, True
    stage.network.silent_until = 0.0
    stage.world.run(stage.end + SETTLING)
    Finisher(stage)
    stage.world.run(stage.end + SETTLING + PATIENCE)


def _report(seed: int, stage: Stage) -> Report:
    calls = stage.log.operations
    return Report(
        seed,
        len(calls),
        Counter((made.kind, made.told) for made in calls),
        stage.weather.counts,
        list(violations(stage)),
    )


def violations(stage: Stage) -> Iterator[Violation]:
    """Yield what a run breaks."""
    calls = stage.log.operations
    yield from check(calls, stage.settings, stage.place.behind)
    if stage.place.is_exact:
        yield from work_is_not_denied(calls, stage.network.heard_until)
    yield from the_global_state_grows(calls, lambda state: float(state["cursor"]))
    for process, _, coordinator in stage.started:
        if not process.dead:
            yield from metrics_are_exact(calls, process.name, coordinator.short_counts())
    if not stage.finished:
        yield Violation("L1", "not everything has come to an end")
    yield from _all_listed_exist(stage)


def _all_listed_exist(stage: Stage) -> Iterator[Violation]:
    gone = {made.key for made in stage.log.operations if made.kind in (Kind.DELETE, Kind.VANISH)}
    last = {made.key: made for made in stage.log.operations if made.kind is Kind.READ and made.told is Told.OK}
    for key in stage.keys:
        if key not in gone and (key not in last or last[key].result["status"] is None):
            yield Violation("S11", f"partition {key!r} was listed and does not exist")
