"""The list of mutants fits the code; ``make mutants`` tries them all, ``make test`` what has changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants import seen
from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Simulated

FLOOR = 40


def test_every_mutant_applies_to_the_code_as_it_is() -> None:
    """Who changes a line that a mutant breaks, changes the mutant with it."""
    for mutant in MUTANTS:
        mutant.check()
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= FLOOR


@pytest.fixture
def nothing_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "SEEN", tmp_path / "seen.json")


@pytest.mark.usefixtures("nothing_seen")
def test_a_mutant_is_tried_again_when_it_its_module_or_what_catches_it_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert seen.changed(MUTANTS) == list(MUTANTS)
    seen.remember(MUTANTS)
    assert seen.changed(MUTANTS) == []
    other = replace(MUTANTS[0], breaks="another promise")
    assert seen.changed([other, *MUTANTS[1:]]) == [other]
    places = set[Path]()
    monkeypatch.setattr(seen, "_texts", lambda found: str(places.update(found)))
    assert seen.changed(MUTANTS) == list(MUTANTS)
    package = seen.ROOT / "airflow_coordination"
    assert {
        package / "leases" / "steps.py",
        package / "testing" / "conformance",
        seen.ROOT / "tests/simulation",
    } <= places
    assert all(place.exists() for place in places)


@pytest.mark.usefixtures("nothing_seen")
def test_what_survived_is_not_remembered() -> None:
    survivor, *caught = MUTANTS
    seen.remember(caught)
    assert seen.changed(MUTANTS) == [survivor]


def test_a_test_that_catches_a_mutant_is_there() -> None:
    for mutant in MUTANTS:
        if not isinstance(mutant.catcher, Simulated):
            assert (seen.ROOT / mutant.catcher.node.partition("::")[0]).is_file(), mutant.name
