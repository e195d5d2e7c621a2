"""Mutants of the table are made from the rules as they are, and the list of equivalent ones names such as there are."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from airflow_coordination.protocol import rules
from airflow_coordination.protocol.algebra import PLAIN, Rule
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.generated import Broken, all_breaches, cases, modules_of_the_table
from tests.mutants.selection import GENERATED, kinds

NAMES = [breach.name for breach in all_breaches()]


def test_every_rule_has_mutants() -> None:
    names = {name.lower() for name, rule in vars(rules).items() if isinstance(rule, Rule)}
    assert names <= {case.name.partition(".")[0] for case in cases()}
    for case in cases():
        parts = {name.partition("/")[2] for name in NAMES if name.startswith(f"rule.{case.name}/")}
        assert "unconditional" in parts
        assert any(part.startswith(("field ", "loses ")) for part in parts)


@pytest.mark.parametrize(
    "name",
    [
        "rule.acquire/conjunct 3",
        "rule.end/field staged",
        "rule.end/loses staged",
        "rule.act.retract free/record EmptyHeads",
        "rule.renew/after later 1",
        "rule.retake/pause",
    ],
)
def test_a_mutant_can_be_asked_for_by_what_it_breaks(name: str) -> None:
    assert name in NAMES


def test_each_reason_belongs_to_a_mutant_that_there_is() -> None:
    idle = [pattern for pattern, _ in EQUIVALENT if not any(fnmatchcase(name, pattern) for name in NAMES)]
    assert idle == []
    assert all(reason for _, reason in EQUIVALENT)


def test_one_word_is_broken_and_no_other() -> None:
    def said(part: str) -> tuple[bool, bool]:
        x = Broken(PLAIN, part)
        return x.both(False, True), x.both(x.either(False, True), False)

    assert said("") == (False, False)
    assert said("conjunct 1") == (True, False)
    assert said("conjunct 4") == (False, True)
    assert said("alternative 2") == (False, False)


def test_a_change_of_the_table_makes_its_mutants_due() -> None:
    assert [place.name for place in modules_of_the_table()] == ["algebra.py", "rules.py", "side_writes.py"]
    places = kinds()[GENERATED]["rule.acquire/conjunct 3"]
    assert {place.rpartition("/")[2] for place in places} >= {"rules.py", "algebra.py", "generated.py", "exactly.py"}
