"""The model: every rule is needed, and all rules together keep every promise within the bounds of each scenario."""

from __future__ import annotations

import pytest

from tests.model.explorer import Explorer
from tests.model.full import FULL, Full
from tests.model.holes import HOLES, Hole
from tests.model.leases import Leases

pytestmark = pytest.mark.slow

LONG = {"H30d"}
"""As long as all others together."""
each_hole = pytest.mark.parametrize(
    "hole",
    [pytest.param(hole, id=hole.name, marks=[pytest.mark.long] * (hole.name in LONG)) for hole in HOLES],
)


@each_hole
def test_without_its_rule_a_promise_is_broken(hole: Hole) -> None:
    found = Explorer(Leases(hole.loosened)).run()
    assert hole.expect in found.violation
    assert found.trace, "it is shown how"


@each_hole
def test_with_the_rule_none_is(hole: Hole) -> None:
    found = Explorer(Leases(hole.scenario)).run()
    assert not found.violation, "\n".join([found.violation, *found.trace])
    assert found.complete


@pytest.mark.parametrize("full", FULL, ids=lambda full: full.name)
def test_all_rules_together_keep_every_promise(full: Full) -> None:
    found = Explorer(Leases(full.small)).run()
    assert not found.violation, "\n".join([found.violation, *found.trace])
    assert found.complete
