"""Overlays: each rule is needed, in the way that ``traces.txt`` shows, and all rules together keep S21 and S24."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from tests.model.explorer import Explorer
from tests.model.overlays.holes import FULL, HOLES, Full, Hole
from tests.model.overlays.rules import Rules
from tests.model.overlays.traces import found, kept, text
from tests.model.overlays.world import Overlays

pytestmark = pytest.mark.slow
by_name: dict[str, Any] = {"ids": lambda each: each.name}
LARGE = {"O3", "O3b"}
"""Three times as large as all others together."""
OF_INGEST = [hole for hole in HOLES if hole.expect.startswith("S24")]
OF_READERS = [hole for hole in HOLES if hole not in OF_INGEST]


@pytest.mark.parametrize("hole", OF_READERS, **by_name)
def test_s21_without_its_rule_a_reader_loses_rows_or_has_them_twice(hole: Hole) -> None:
    result = found(hole)
    assert hole.expect in result.violation
    assert result.violation.startswith("S21")
    assert text(hole, result) == kept()[hole.name]


@pytest.mark.parametrize("hole", OF_INGEST, **by_name)
def test_s24_without_its_rule_ingest_does_not_go_on(hole: Hole) -> None:
    result = found(hole)
    assert hole.expect in result.violation
    assert text(hole, result) == kept()[hole.name]


@pytest.mark.parametrize("hole", HOLES, **by_name)
def test_s21_s24_with_the_rule_nothing_is_broken(hole: Hole) -> None:
    result = Explorer(Overlays(hole.scenario)).run()
    assert not result.violation, "\n".join([result.violation, *result.trace])
    assert result.complete


@pytest.mark.parametrize("full", FULL, **by_name)
def test_s21_s24_all_rules_together_keep_both(full: Full) -> None:
    result = Explorer(Overlays(full.small)).run()
    assert not result.violation, "\n".join([result.violation, *result.trace])
    assert result.complete


@pytest.mark.parametrize("hole", [hole for hole in HOLES if hole.name not in LARGE], **by_name)
def test_nobody_misses_what_the_model_forgets(hole: Hole) -> None:
    """States that differ only by what nobody can come to any more are one: that hides no way to a violation."""
    loosened, whole = (Explorer(Overlays(each, forgets=False)).run() for each in (hole.loosened, hole.scenario))
    assert hole.expect in loosened.violation
    assert len(loosened.trace) == len(found(hole).trace)
    assert not whole.violation
    assert whole.complete


def test_each_rule_is_left_out_once() -> None:
    """A rule that nobody loosens is a rule that nobody needs."""
    assert {name for hole in HOLES for name in hole.loose} == {field.name for field in fields(Rules)}


def test_each_trace_is_of_a_rule() -> None:
    assert list(kept()) == [hole.name for hole in HOLES]
