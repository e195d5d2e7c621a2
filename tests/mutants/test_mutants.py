"""The list of mutants fits the code; ``make test`` tries them all by ``python -m tests.mutants``."""

from __future__ import annotations

from tests.mutants.catalogue import MUTANTS

FLOOR = 40


def test_every_mutant_applies_to_the_code_as_it_is() -> None:
    """Who changes a line that a mutant breaks, changes the mutant with it."""
    for mutant in MUTANTS:
        mutant.check()
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= FLOOR
