"""Mutants of the command line: on which partitions a person's action falls."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_SELECTION = "monitoring.selection"
_ACTING = "monitoring.acting"


def _selected(test: str) -> Tested:
    return Tested(f"tests/unit/cli/test_selection.py::{test}")


MUTANTS = (
    Mutant(
        "filter forgets the error",
        _SELECTION,
        "found = list(filter(chosen.finds, page))",
        "found = list(page)",
        "people: partitions that nobody meant are reopened, reset or retracted",
        _selected("test_only_what_the_filter_finds_is_acted_on"),
    ),
    Mutant(
        "filter stops after a page",
        _SELECTION,
        "        if len(page) < size:\n            return",
        "        if page:\n            return",
        "people: what a filter finds is counted too low, and the rest is left in silence",
        _selected("test_a_filter_works_page_by_page"),
    ),
    Mutant(
        "prefix forgets its own key",
        "leases.prefixes",
        "    found = [*first, *store",
        "    found = [*store",
        "people: the partition whose key is the prefix is left out",
        _selected("test_a_prefix_is_a_key_as_well_and_a_start_may_lie_within"),
    ),
    Mutant(
        "action on what has moved since it was counted",
        _ACTING,
        "return act(seen.key, by=by, why=why, seen=seen)",
        "return act(seen.key, by=by, why=why)",
        "people: an action falls on a partition that is not any more what the person saw",
        _selected("test_what_moved_since_it_was_counted_is_refused_and_the_rest_is_done"),
    ),
)
