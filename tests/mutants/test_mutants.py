"""The list of mutants fits the code; ``make mutants`` tries them all, ``make test`` those of what has changed."""

from __future__ import annotations

from pathlib import Path

from tests.mutants import mutant as kinds
from tests.mutants.catalogue import MUTANTS
from tests.mutants.due import ROOT
from tests.mutants.mutant import DoesNotApply, Mutant
from tests.mutants.selection import EVERY, places_of

FLOOR = 40


def test_every_mutant_applies_to_the_code_as_it_is() -> None:
    """Who changes a line that a mutant breaks, changes the mutant with it."""
    assert [said for mutant in MUTANTS if (said := _why_not(mutant))] == []
    assert len(MUTANTS) >= FLOOR


def _why_not(mutant: Mutant) -> str:
    """Return why a mutant does not apply, empty if it does."""
    try:
        mutant.check()
    except DoesNotApply as error:
        return str(error)
    return ""


def test_every_mutant_can_be_asked_for_by_its_name() -> None:
    assert len(set(EVERY)) == len(EVERY)


def test_a_mutant_is_due_with_its_module_its_text_and_the_test_that_notices() -> None:
    seen = set[Path]()
    for mutant in MUTANTS:
        module, text, *test = places_of(mutant)
        assert module.is_relative_to(ROOT / "airflow_coordination")
        assert text.parent == ROOT / "tests" / "mutants" / "broken"
        assert len(test) == isinstance(mutant.catcher, kinds.Tested)
        seen |= {module, text, *test}
    assert [place for place in seen if not place.is_file()] == []
