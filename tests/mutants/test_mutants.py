"""The suite finds every mutant, and nothing wrong with the code as it is."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.mutants.catalogue import CONTROLS, MUTANTS
from tests.mutants.runner import all_tried, is_as_expected

FLOOR = 40


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_mutant_is_caught() -> None:
    verdicts = list(all_tried([*CONTROLS, *(mutant.name for mutant in MUTANTS)], jobs=2))
    assert [verdict.name for verdict in verdicts if not is_as_expected(verdict)] == []
    caught = Counter(str(verdict.caught_by).partition("::")[0] for verdict in verdicts if verdict.caught_by)
    slowest = max(verdicts, key=lambda verdict: verdict.seconds)
    print(f"\n{caught.total()} mutants caught; slowest: {slowest.name} after {slowest.seconds:.1f} seconds")
    print("\n".join(f"  {count:4} by {check}" for check, count in caught.most_common()))


def test_every_mutant_applies_to_the_code_as_it_is() -> None:
    """Who changes a line that a mutant breaks, changes the mutant with it."""
    for mutant in MUTANTS:
        mutant.check()
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= FLOOR
