"""Two million calls of the real coordinator in virtual time, a tenth of them under faults: no promise is broken."""

from __future__ import annotations

import re

import pytest

from airflow_coordination.stores.dynamodb import requests
from airflow_coordination.testing.history import Kind
from tests.share import SHARE
from tests.simulation.__main__ import replay
from tests.simulation.batch import Tally, run
from tests.simulation.cuts import Cut
from tests.simulation.faults import Fault
from tests.simulation.run import run_phases, violations
from tests.simulation.setup import Setup
from tests.simulation.stores import STORES

OPERATIONS = {"in_memory": 1_880_000, "sqlite": 80_000, "dynamodb": 40_000}
"""Together two million in less than five minutes on two cores; ``make proof`` makes more."""
_WHAT_IS_DONE = (
    *(Kind.RETAKE, Kind.ADOPT, Kind.BEGIN, Kind.CLOSE, Kind.FAIL, Kind.RESET, Kind.DELETE),
    *(Kind.ASK, Kind.STEAL, Kind.HAND_OVER),
)
_NOT_ON_EVERY_STORE = {Fault.STALE}
"""Stale lists on the port; DynamoDB's index is stale by itself."""


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("store", STORES)
def test_s5_every_history_is_linearizable_under_faults(store: str) -> None:
    whole = Tally(store, 0)
    for found in run(store, 0, int(OPERATIONS[store] * SHARE), seconds=1200, jobs=2):
        whole += found
        for seed, violation in found.broken:
            pytest.fail(f"seed {seed} breaks {violation}\nSee it: {replay(store, seed)}")
    print(f"\n{whole.operations:,} operations, {whole.faults.total():,} faults, {whole.seeds:,} seeds on {store}")
    assert whole.operations >= OPERATIONS[store] * SHARE
    _check_floor(whole)


def _check_floor(whole: Tally) -> None:
    """A run in which nothing went wrong proves nothing."""
    assert whole.faults.total() >= whole.operations / 20
    seldom = _NOT_ON_EVERY_STORE if whole.store == "dynamodb" else set()
    assert {fault.name for fault in set(Fault) - seldom} <= whole.faults.keys()
    per_thousand = {told: 1000 * number / whole.operations for told, number in whole.told.items()}
    assert per_thousand["refused"] >= 5
    assert per_thousand["unknown"] >= 20
    for kind in _WHAT_IS_DONE:
        assert per_thousand[f"{kind}: ok"] >= 0.03, kind  # one in a short run: what is rare varies with every change


_ELSEWHERE = re.compile(r"simulated-\w+")
"""The directory of a run's store, which errors name."""


@pytest.mark.parametrize("store", STORES)
def test_one_seed_is_one_run(store: str) -> None:
    """Whatever else is done meanwhile, a seed that fails fails again."""
    assert _history(store, 11) == _history(store, 11)


def test_a_run_leaves_the_process_as_it_was() -> None:
    """It was not so once, and a test that needs two requests at a time failed in whatever process came after."""
    before = requests.PARALLEL
    _history("dynamodb", 11)
    assert requests.PARALLEL == before > 1


def _history(store: str, seed: int) -> list[str]:
    setup = Setup(seed, STORES[store])
    try:
        run_phases(setup)
        assert list(violations(setup)) == []
        return [_ELSEWHERE.sub("simulated", str(made)) for made in setup.log.operations]
    finally:
        setup.clear()


def test_a_cut_leaves_out_what_it_names() -> None:
    setup = Setup(3, STORES["in_memory"], Cut(until=30.0, without=frozenset({"LOST", "LATE", "worker0", "person"})))
    run_phases(setup)
    assert not {Fault.LOST, Fault.LATE} & setup.weather.counts.keys()
    assert not {"worker0.1", "person.1"} & {made.process for made in setup.log.operations}
    setup.clear()
