"""Readers find exactly what is published, with overlays and without, whatever happens meanwhile: in virtual time."""

from __future__ import annotations

import pytest

from tests.merging.batch import tally
from tests.merging.broken import RULES
from tests.merging.virtual import STOPPED
from tests.simulation.stores import STORES

_SEEDS = {"in_memory": range(6), "sqlite": range(2), "dynamodb": range(2)}
"""A few seconds each; ``python -m tests.merging`` and ``make proof`` run more."""
_MUST_HAPPEN = (
    *("merged", "given up for a later epoch", "refused by rule walk", "late endings refused"),
    *("published", "retracted", "blocks deleted", "blocks read from overlays"),
)


@pytest.mark.slow
@pytest.mark.parametrize("store", STORES)
def test_s12_s21_readers_find_exactly_what_is_published_while_groups_merge_and_originals_go(store: str) -> None:
    found = tally(store, _SEEDS[store])
    print(f"\n{found}")
    assert found.broken == [], f"see it: python -m tests.merging --store {store} --seed {found.broken[0][0]}"
    assert found.faults.total() >= found.operations / 20
    assert found.faults[STOPPED] >= len(_SEEDS[store])
    if store == "in_memory":
        assert [name for name in _MUST_HAPPEN if not found.counts[name]] == []


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_a_run_without_a_rule_of_overlays_sees_that_it_is_missing(rule: str) -> None:
    """A check that finds nothing may be blind."""
    broken = next(
        found.broken for seed in range(40) if (found := tally("in_memory", range(seed, seed + 1), rule)).broken
    )
    assert {violation.partition(":")[0] for _, violation in broken} == {"S21"}


def test_one_seed_is_one_run() -> None:
    first, again = (tally("in_memory", range(1)) for _ in range(2))
    assert str(first) == str(again)
