"""Mutants of the command line: on which partitions a person's action falls."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_SELECTION = "cli.selection"


def _selected(test: str) -> Tested:
    return Tested(f"tests/unit/cli/test_selection.py::{test}")


MUTANTS = (
    Mutant(
        "filter forgets the error",
        _SELECTION,
        "            if self._has_error(partition):\n                yield partition\n",
        "            yield partition\n",
        "people: partitions that nobody meant are reopened, reset or retracted",
        _selected("test_only_what_the_filter_finds_is_acted_on"),
    ),
    Mutant(
        "filter stops after a page",
        _SELECTION,
        "        if len(page) < _PAGE:\n            return\n",
        "        return\n",
        "people: what a filter finds is counted too low, and the rest is left in silence",
        _selected("test_a_filter_works_page_by_page"),
    ),
    Mutant(
        "action on what has moved since it was counted",
        "cli.actions",
        "by=by, why=args.why, seen=partition)",
        "by=by, why=args.why)",
        "people: an action falls on a partition that is not any more what the person saw",
        _selected("test_what_moved_since_it_was_counted_is_refused_and_the_rest_is_done"),
    ),
)
