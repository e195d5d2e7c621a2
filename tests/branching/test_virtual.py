"""Readers find what counts, whole branches and nothing that is hidden, whatever happens meanwhile: in virtual time."""

from __future__ import annotations

import pytest

from tests.branching import duties
from tests.branching.batch import tally
from tests.branching.broken import RULES
from tests.merging.virtual import STOPPED
from tests.simulation.stores import STORES

_SEEDS = {"in_memory": range(2, 3), "sqlite": range(1), "dynamodb": range(1)}
"""A few seconds each; ``python -m tests.branching`` and ``make proof`` run more."""
_MUST_HAPPEN = (
    *("branches begun", "branches published", "branches rolled back", "branches finalized", "branches retired"),
    *("hidden", "restored", "endings refused by a branch", "resets refused by a branch", "partitions seen in a branch"),
    *("published", "retracted", "blocks deleted", "views changed under a reader"),
)
_QUICK = (2, 0, 1)
"""Seeds that show at once what comes of leaving out a rule; with others in their places one of forty does."""


@pytest.mark.slow
@pytest.mark.parametrize("store", STORES)
def test_s12_s22_readers_find_what_counts_while_branches_show_and_intervals_are_hidden(store: str) -> None:
    found = tally(store, _SEEDS[store])
    print(f"\n{found}")
    assert found.broken == [], f"see it: python -m tests.branching --store {store} --seed {found.broken[0][0]}"
    assert found.faults.total() >= found.operations / 20
    assert found.faults[STOPPED] >= len(_SEEDS[store])
    if store == "in_memory":
        assert [name for name in _MUST_HAPPEN if not found.counts[name]] == []


@pytest.mark.slow
def test_s25_duties_without_any_lease_between_them_change_nothing_that_they_may_not() -> None:
    """Two schedulers, killed and stopped; what rules hide and a purge empties is judged as all that people hide."""
    found = duties.tally("in_memory", range(1, 3))
    print(f"\n{found}")
    assert found.broken == [], "see it: tests.branching.duties.tally"
    wanted = ("partitions hidden by rules", "head records emptied by a duty", "rules set")
    assert [name for name in wanted if not found.counts[name]] == []


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_a_run_without_a_rule_of_branches_sees_that_it_is_missing(rule: str) -> None:
    """A check that finds nothing may be blind."""
    seeds = [*_QUICK, *range(40)]
    runs = (tally("in_memory", range(seed, seed + 1), rule).broken for seed in seeds)
    said = next(broken for broken in runs if any(violation.startswith("S22") for _, violation in broken))
    print(said[0][1][:200])
