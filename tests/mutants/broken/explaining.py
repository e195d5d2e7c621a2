"""Mutants of what is said of a partition that does not move."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_REASONS = "leases.explaining.reasons"
_FACTS = "leases.explaining.facts"


def _said(test: str) -> Tested:
    return Tested(f"tests/unit/leases/explaining/test_reasons.py::{test}")


def _asked(test: str) -> Tested:
    return Tested(f"tests/integration/explaining/test_explaining.py::{test}")


MUTANTS = (
    Mutant(
        "owners at work are nobody",
        _REASONS,
        "    if signs.at_work:\n        busy",
        "    if False:\n        busy",
        "a source whose tasks are busy is said to have none",
        _said("test_those_at_work_are_busy"),
    ),
    Mutant(
        "a full page of owners is all of them",
        _FACTS,
        "if len(held) == HELD:",
        "if len(held) > HELD:",
        "where many work, somebody who was not looked at may have acquired since",
        _asked("test_d_so_many_owners_are_not_looked_at_that_somebody_works_anyway"),
    ),
    Mutant(
        "an earlier park explains everything",
        _REASONS,
        "act.action == Action.PARK and _is_later(act, newest)",
        "act.action == Action.PARK",
        "who repairs a partition that failed is told that somebody has parked it",
        _said("test_a_person_s_act_before_the_last_failure_has_not_parked_it"),
    ),
    Mutant(
        "any delay is a failure",
        _REASONS,
        "    if newest is not None and newest.outcome is Outcome.FAILED:\n        # Whoever",
        "    if newest is not None:\n        # Whoever",
        "an old error is named for what its owner gave up",
        _said("test_it_is_delayed_because_it_was_given_up"),
    ),
    Mutant(
        "due a moment late",
        _REASONS,
        "return at is not None and at <= now",
        "return at is not None and at < now",
        "what can be acquired is said to wait for a time",
        _said("test_it_is_due_from_that_very_moment_on"),
    ),
    Mutant(
        "the last lost lease is one like any other",
        _REASONS,
        "if after is not None and after.parked:",
        "if after is None:",
        "nobody is told that the next sweep parks it",
        _said("test_its_last_lost_lease_will_park_it_by_the_limit_that_travels_with_it"),
    ),
    Mutant(
        "retracted is published",
        _REASONS,
        "heads = [head for head in facts.heads if head.blocks]",
        "heads = facts.heads",
        "S12: output that was taken back is said to be there",
        _said("test_it_is_done"),
    ),
    Mutant(
        "the source is read to find a place",
        _FACTS,
        "self._store.claimable(self._source, PLACES))",
        "self._store.claimable(self._source, 10 * PLACES))",
        "one explanation reads more the larger the source is",
        _asked("test_d_what_is_asked_and_read_does_not_grow_with_the_source"),
    ),
    Mutant(
        "a retract hides who has parked it",
        _FACTS,
        "if act.action not in _CHANGE_NOTHING), None)",
        "if act.action), None)",
        "who parked it, and why, is forgotten with the next action",
        _asked("test_what_a_person_has_parked_and_deleted"),
    ),
)
