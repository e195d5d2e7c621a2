"""Branches and the view: each rule is needed, in the way that ``traces.txt`` shows, and together they keep S22, S23."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from tests.model.branches.holes import FULL, HOLES, Full, Hole
from tests.model.branches.rules import Rules
from tests.model.branches.traces import found, kept, text
from tests.model.branches.world import Branches
from tests.model.explorer import Explorer

pytestmark = pytest.mark.slow
by_name: dict[str, Any] = {"ids": lambda each: each.name}
OF_DELETION = [hole for hole in HOLES if hole.expect.startswith("S23") or "gone" in hole.expect]
OF_READERS = [hole for hole in HOLES if hole not in OF_DELETION]


@pytest.mark.parametrize("hole", OF_READERS, **by_name)
def test_s22_without_its_rule_a_reader_sees_what_does_not_count(hole: Hole) -> None:
    result = found(hole)
    assert hole.expect in result.violation
    assert result.violation.startswith("S22")
    assert text(hole, result) == kept()[hole.name]


@pytest.mark.parametrize("hole", OF_DELETION, **by_name)
def test_s23_without_its_rule_what_can_still_show_is_deleted(hole: Hole) -> None:
    result = found(hole)
    assert hole.expect in result.violation
    assert result.violation.startswith("S23")
    assert text(hole, result) == kept()[hole.name]


@pytest.mark.parametrize("hole", HOLES, **by_name)
def test_s22_s23_with_the_rule_nothing_is_broken(hole: Hole) -> None:
    result = Explorer(Branches(hole.scenario)).run()
    assert not result.violation, "\n".join([result.violation, *result.trace])
    assert result.complete


@pytest.mark.parametrize("full", FULL, **by_name)
def test_s22_s23_all_rules_together_keep_both(full: Full) -> None:
    result = Explorer(Branches(full.small)).run()
    assert not result.violation, "\n".join([result.violation, *result.trace])
    assert result.complete


def test_each_rule_is_left_out_once() -> None:
    """A rule that nobody loosens is a rule that nobody needs."""
    assert {name for hole in HOLES for name in hole.loose} == {field.name for field in fields(Rules)}


def test_each_trace_is_of_a_rule() -> None:
    assert list(kept()) == [hole.name for hole in HOLES]
