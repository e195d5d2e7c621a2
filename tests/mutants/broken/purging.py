"""Mutants of the purge: what is marked, what goes, in which order it is looked at, and what the dry run tells."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_EMPTYING, _PURGE, _CHANGING = "planning.unused.emptying", "duties.retention.purge", "planning.view.changing"


def _purge(test: str) -> Tested:
    return Tested(f"tests/unit/duties/test_purge.py::{test}")


def _beside(test: str) -> Tested:
    return Tested(f"tests/unit/duties/test_purge_beside.py::{test}")


def _pure(test: str) -> Tested:
    return Tested(f"tests/unit/planning/test_emptying.py::{test}")


MUTANTS = (
    Mutant(
        "purge takes what was published after the mark",
        _EMPTYING,
        "    return head.published_at <= entry.upto and (",
        "    return (",
        "S23: what was published anew, and shows by now, is deleted",
        _pure("test_what_is_purged_is_fixed_by_the_mark"),
    ),
    Mutant(
        "purge takes what a branch brings later",
        _EMPTYING,
        "(branch in entry.branches and may_show(view, head))",
        "may_show(view, head)",
        "S23: a branch that is published into it loses rows without a margin",
        _purge("test_s23_a_branch_that_is_published_into_an_interval_being_purged_stays"),
    ),
    Mutant(
        "a branch that is only published covers for good",
        _EMPTYING,
        "    if branch is None or branch.state is not BranchState.FINAL:\n",
        "    if branch is None:\n",
        "S23: a roll back finds nothing",
        _pure("test_a_branch_covers_what_is_older_once_it_is_final"),
    ),
    Mutant(
        "what covers need not have been published for long",
        _EMPTYING,
        "    return Unseen(head, max(branch.changed_at, other.published_at), branch)\n",
        "    return Unseen(head, branch.changed_at, branch)\n",
        "S23: readers are at what was covered a moment ago",
        _pure("test_a_branch_covers_what_is_older_once_it_is_final"),
    ),
    Mutant(
        "purge takes begun branches for rolled back ones",
        _EMPTYING,
        "    if branch is None or branch.state is not BranchState.ROLLED_BACK or head.published_at is None:\n",
        "    if branch is None or branch.shows or head.published_at is None:\n",
        "S23: a branch has nothing when it is published",
        _pure("test_the_base_covers_what_is_older_in_any_branch_that_shows"),
    ),
    Mutant(
        "purge has no margin for what branches hide",
        _PURGE,
        "            if isinstance(each.because, Hidden) or each.since <= self.upto:\n",
        "            if True:\n",
        "S23: readers are at what was covered a moment ago",
        _purge("test_what_the_base_has_published_since_hides_a_final_branch"),
    ),
    Mutant(
        "what comes into a hidden interval has no buffer",
        _PURGE,
        "                        changed[each] = max(changed[each], last_change(self.view, each, head))\n",
        "",
        "what somebody has hidden shows when the purge is through",
        _purge("test_s23_what_was_published_into_a_hidden_interval_has_its_own_buffer"),
    ),
    Mutant(
        "purge marks all that is old at once",
        _PURGE,
        "        marks = tuple(each for each in due if each in filled and marked[each] in reached)\n",
        "        marks = tuple(due)\n",
        "a mistake cannot be taken back although nothing of it is deleted yet",
        _purge("test_so_many_head_records_go_in_a_run_the_oldest_first_and_marks_go_no_further"),
    ),
    Mutant(
        "purge stops at what is held",
        _PURGE,
        "                self.skipped[obstacle or GONE] += 1\n",
        "                return\n",
        "one partition that is held keeps all others from going",
        _purge("test_what_is_held_or_has_staged_blocks_waits_and_keeps_no_other_from_going"),
    ),
    Mutant(
        "a branch is forgotten while its partitions run",
        _PURGE,
        "        return counts is not None and counts.completed >= counts.partitions\n",
        "        return counts is not None\n",
        "what such a partition publishes late stays for ever",
        _purge("test_a_branch_is_not_forgotten_while_a_partition_of_it_may_still_end"),
    ),
    Mutant(
        "what was hidden again counts as marked before",
        _CHANGING,
        "        if each.purging or each not in marked:\n",
        "        if each.purging or each.interval not in [one.interval for one in marked]:\n",
        "S23: a purger that slept deletes what was restored meanwhile and hidden again",
        Tested("tests/unit/planning/test_view.py::test_what_is_being_purged_cannot_come_back"),
    ),
    Mutant(
        "intervals of what is hidden are set",
        _CHANGING,
        "        if entry is None:\n            continue\n",
        "        if entry is None or not entry.purging:\n            continue\n",
        "S23: what comes into a hidden interval that way has no margin",
        _purge("test_s23_no_interval_is_set_of_what_is_hidden_or_would_be"),
    ),
    Mutant(
        "what was hidden by who was stopped counts from when they began",
        _PURGE,
        "        return each if each.purging or each in then.hidden else replace(each, since=now)\n",
        "        return each\n",
        "S23: nobody has time to restore what readers saw a moment ago",
        _beside("test_s23_who_was_stopped_before_hiding_for_longer_than_the_buffer_leaves_time_to_restore"),
    ),
    Mutant(
        "a branch that was over late counts from when somebody was about to end it",
        _PURGE,
        "        return each if same else replace(each, changed_at=now)\n",
        "        return each\n",
        "S23: readers are at what they saw a moment ago",
        _beside("test_s23_who_was_stopped_before_a_branch_was_over_for_longer_than_the_buffer_takes_it_from_no_reader"),
    ),
    Mutant(
        "a mark names branches by what they say of themselves",
        _PURGE,
        "            return changing.purging(view, going, self.upto, self._then.shown)\n",
        "            return changing.purging(view, going, self.upto)\n",
        "S23: what a branch has brought a moment ago goes",
        _beside("test_s23_what_a_branch_brings_between_plan_and_mark_has_its_buffer"),
    ),
    Mutant(
        "a dry run tells what goes anyhow",
        "outputs.collector",
        "    return sorted(found[1] - found[0], key=lambda file: file.path)\n",
        "    return sorted(found[1], key=lambda file: file.path)\n",
        "the dry run names files that do not go because of the purge",
        Tested("tests/unit/duties/test_purged_files.py::test_s23_hide_restore_hide_purge"),
    ),
)
