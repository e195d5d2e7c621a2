"""Mutants of the command line: on which partitions a person's action falls."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_SELECTION = "monitoring.selection"
_ACTING = "cli.subcommands.acting"


def _selected(test: str) -> Tested:
    return Tested(f"tests/unit/cli/test_selection.py::{test}")


def _example(test: str) -> Tested:
    return Tested(f"tests/unit/cli/test_quickstart.py::{test}")


MUTANTS = (
    Mutant(
        "filter forgets the error",
        _SELECTION,
        "found = [each for each in page if chosen.finds(each, now)]\n        matching",
        "found = list(page)\n        matching",
        "people: partitions that nobody meant are reopened, reset or retracted",
        _selected("test_only_what_the_filter_finds_is_acted_on"),
    ),
    Mutant(
        "filter stops after a page",
        _SELECTION,
        "        if len(page) < size:\n            return Selection",
        "        if page:\n            return Selection",
        "people: what a filter finds is counted too low, and the rest is left in silence",
        _selected("test_a_filter_works_page_by_page"),
    ),
    Mutant(
        "prefix forgets its own key",
        "protocol.pages",
        "    found = [*first, *store",
        "    found = [*store",
        "people: the partition whose key is the prefix is left out",
        _selected("test_a_prefix_is_a_key_as_well_and_a_start_may_lie_within"),
    ),
    Mutant(
        "action on what has moved since it was counted",
        _ACTING,
        "coordinator.people.act(action, one.key, by, why, one, batch=batch, **told)",
        "coordinator.people.act(action, one.key, by, why, batch=batch, **told)",
        "people: an action falls on a partition that is not any more what the person saw",
        _selected("test_what_moved_since_it_was_counted_is_refused_and_the_rest_is_done"),
    ),
    Mutant(
        "quickstart overwrites what was changed",
        "cli.quickstart.example",
        "if path.exists() and not (path in mine and _is(path, mine[path]))",
        "if path.exists() and path not in mine",
        "people: what somebody wrote into the example is gone",
        _example("test_a_file_that_was_changed_since_is_not_overwritten"),
    ),
    Mutant(
        "quickstart removes what was changed",
        "cli.quickstart.example",
        "mine = [path for path, digest in self._recorded(record) if _is(path, digest)]",
        "mine = [path for path, digest in self._recorded(record) if path.exists()]",
        "people: what somebody wrote into the example is gone",
        _example("test_cleaning_removes_nothing_else"),
    ),
    Mutant(
        "quickstart believes its record of a home",
        "cli.quickstart.example",
        "if (home / MARK).is_file() and not home.is_symlink()",
        "if not home.is_symlink()",
        "people: a folder that was never an Airflow of its own is removed",
        _example("test_a_home_that_is_no_airflow_of_its_own_is_never_removed"),
    ),
    Mutant(
        "any ending before began this tenure",
        "monitoring.owners",
        "last.at if last is not None and last.op == partition.nonce else None",
        "last.at if last is not None else None",
        "people: a lease is said to be held since somebody else gave it up",
        Tested("tests/unit/monitoring/test_owners.py::test_an_ending_before_does_not_tell_when_this_tenure_began"),
    ),
    Mutant(
        "what older code has left began this tenure",
        "protocol.partition",
        "return None if last is not None and is_stale(self.acquired_at, last) else self.acquired_at",
        "return self.acquired_at",
        "people: a lease is said to be held since somebody else acquired it",
        Tested("tests/unit/monitoring/test_owners.py::test_an_ending_before_does_not_tell_when_this_tenure_began"),
    ),
    Mutant(
        "what older code has left is the next owner's Spark application",
        "protocol.partition",
        "left = self.acquired_at is not None and self.held_since is None",
        "left = False",
        "people: a lease's link leads to another owner's application",
        Tested("tests/unit/monitoring/test_owners.py::test_what_older_code_has_left_is_not_the_next_owners"),
    ),
    Mutant(
        "a start a moment before the ending before it is unknown",
        "protocol.partition",
        "start < ended - SAME_MOMENT",
        "start < ended",
        "people: nobody knows how long a lease was held that was waited for",
        Tested("tests/unit/protocol/test_past_tenure.py::test_a_start_a_moment_before_the_ending_before_it_is_one"),
    ),
    Mutant(
        "a tenure that ends during a look is shown twice",
        "monitoring.timeline",
        "if partition.owner is not None and partition.fence not in ended:",
        "if partition.owner is not None:",
        "people: a lease is said to be held and to have ended",
        Tested("tests/unit/monitoring/test_timeline.py::test_what_ends_meanwhile_is_not_held_as_well"),
    ),
    Mutant(
        "the last page of owners is never the last",
        "monitoring.owners",
        "after=held[-1].key if len(found) > limit else None",
        "after=held[-1].key if held else None",
        "people: there is said to be more where there is not",
        Tested("tests/unit/monitoring/test_owners.py::test_page_by_page"),
    ),
)
