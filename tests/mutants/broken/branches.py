"""Mutants of branches, the view and the purge: each is a rule of theirs left out."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_COMMANDS, _PURGE, _RULES = "duties.branches.showing", "duties.retention.purge", "leases.viewing.branches"
_VIEW = "tests/unit/planning/test_view.py::"
_LEASES = "tests/unit/leases/test_branches.py::"
_BRANCHES = "tests/unit/duties/branches/test_branches.py::"
_LOCKED = "        if view.state_of(number) is BranchState.BEGUN:\n            self._refuse_locked"

MUTANTS = (
    Mutant(
        "a branch that shows wins over what is newer",
        "planning.view.showing",
        "key=lambda each: each[:2])",
        "key=lambda each: (each[1], each[0]))",
        "S22: what was published after a branch is never seen",
        Tested(f"{_VIEW}test_s22_the_higher_token_shows_whichever_branch_it_is_of"),
    ),
    Mutant(
        "hiding is judged before it is known what shows",
        "planning.view.showing",
        "    found = newest(view, heads)\n    return None if found is None or hiding(view, found) else found\n",
        "    return newest(view, [head for head in heads if not hiding(view, head)])\n",
        "S22: a new version that is hidden uncovers the old one",
        Tested(f"{_VIEW}test_s22_a_hidden_new_version_does_not_uncover_the_old_one"),
    ),
    Mutant(
        "a branch without all of its partitions is published",
        "planning.view.changing",
        "    if branch.begun and branch.expected is None:\n",
        "    if False:\n",
        "S22: half of what a person who was interrupted wanted shows",
        Tested(f"{_VIEW}test_a_branch_that_was_begun_by_halves_is_not_published"),
    ),
    Mutant(
        "what is being purged is restored",
        "planning.view.changing",
        "touched = [each for each in there if not each.purging]",
        "touched = there",
        "S23: who restores finds nothing",
        Tested(f"{_VIEW}test_what_is_being_purged_cannot_come_back"),
    ),
    Mutant(
        "what is final is rolled back",
        "planning.view.changing",
        "    BranchState.ROLLED_BACK: frozenset({BranchState.BEGUN, BranchState.PUBLISHED}),\n",
        "    BranchState.ROLLED_BACK: frozenset({BranchState.BEGUN, BranchState.PUBLISHED, BranchState.FINAL}),\n",
        "S23: what it has hidden may be gone by then",
        Tested(f"{_BRANCHES}test_final_is_for_good"),
    ),
    Mutant(
        "a branch is published before it has completed",
        _COMMANDS,
        "    running = counts.partitions - counts.completed - counts.parked\n",
        "    running = 0\n",
        "S22: half a backfill shows",
        Tested(f"{_BRANCHES}test_half_a_backfill_is_not_published"),
    ),
    Mutant(
        "a partition leaves a branch that has begun",
        _RULES,
        _LOCKED,
        _LOCKED.replace("if ", "if branch is not None and "),
        "S22: its result hides what the branch will show, or comes back",
        Tested(f"{_LEASES}test_s22_locked_a_reset_outside_of_a_branch_that_has_begun_is_refused"),
    ),
    Mutant(
        "a partition comes into two branches at once",
        _RULES,
        _LOCKED,
        _LOCKED.replace("if ", "if branch is None and "),
        "S22: as if it had been reset outside of the first",
        Tested(f"{_LEASES}test_s22_one_a_partition_runs_in_one_branch_at_a_time"),
    ),
    Mutant(
        "an addition goes where readers do not look",
        _RULES,
        "        if seen is None or branch_of(seen) == number:\n",
        "        if True:\n",
        "S22: it hides the rows that they see",
        Tested(f"{_LEASES}test_s22_same_an_addition_to_what_readers_do_not_see_is_refused"),
    ),
    Mutant(
        "a branch that was rolled back is published into",
        _RULES,
        "        if number is None or view.state_of(number) is not BranchState.ROLLED_BACK:\n",
        "        if True:\n",
        "S22: work for rows that nobody will ever see",
        Tested(f"{_LEASES}test_an_ending_in_a_branch_that_was_rolled_back_is_refused"),
    ),
    Mutant(
        "a reader does not read the view again",
        "outputs.heads.showing",
        "        if _version(after) == _version(before):\n",
        "        if True:\n",
        "S22: what it has read may never have been shown together",
        Tested("tests/unit/duties/branches/test_look.py::test_a_view_that_changes_meanwhile_is_read_again"),
    ),
    Mutant(
        "compaction leaves out what branches have",
        "outputs.heads.standing",
        "(branch.number for branch in self.view.branches)",
        "()",
        "S22: a roll back finds nothing where originals are gone",
        Tested(
            "tests/unit/duties/compaction/test_branches.py::"
            "test_s22_what_a_branch_hides_is_merged_with_it_and_comes_back_by_a_roll_back"
        ),
    ),
)
