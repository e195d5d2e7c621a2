"""Mutants of groups of duties: who runs them, when, what each is told, and what a late leader does."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_RUNNING, _STATE, _MARKS = "duties.groups.running", "duties.groups.state", "duties.groups.marks"
_DELETING, _HIDING, _TOGETHER = "duties.groups.deleting", "duties.groups.hiding", "duties.compaction.together"
_STANDS = "duties.compaction.stands"

_LATE = "test_s25_rules_that_were_changed_while_it_slept_are_applied_and_not_those_it_has_read[dynamodb]"
_FORBIDDEN = "test_s25_what_nobody_may_delete_any_more_stays[dynamodb-whitelist]"


def _run(test: str) -> Tested:
    return Tested(f"tests/unit/duties/groups/test_running.py::{test}")


def _duty(test: str) -> Tested:
    return Tested(f"tests/unit/duties/groups/test_built_in.py::{test}")


def _stands(test: str) -> Tested:
    return Tested(f"tests/unit/duties/compaction/test_stands.py::{test}")


MUTANTS = (
    Mutant(
        "a late leader applies the rules that it has read",
        "duties.retention.applying",
        "        if rules_of_each(coordinator, wanted) == run.rules:\n",
        "        if run.rules is not None:\n",
        "S25: who wakes up hides what newer rules keep",
        Tested("tests/integration/stores/test_stale_leaders.py::" + _LATE),
    ),
    Mutant(
        "a purge marks what it may not any more",
        "duties.retention.purge",
        "            may = self._allowed()\n",
        "            may = self._datasets\n",
        "S25: who wakes up marks for good what the configuration of now protects",
        Tested("tests/integration/stores/test_stale_leaders.py::" + _FORBIDDEN),
    ),
    Mutant(
        "a purge empties what it may not any more",
        "duties.retention.purge",
        "        may = self._allowed() if going else ()\n",
        "        may = self._datasets if going else ()\n",
        "S25: who wakes up deletes what the configuration of now protects",
        Tested("tests/integration/stores/test_stale_leaders.py::" + _FORBIDDEN),
    ),
    Mutant(
        "a pause does not stop a purge that runs",
        "duties.configuring",
        "    return None if config.pause_coordination else config\n",
        "    return config\n",
        "people pause what deletes, and it goes on until it is done",
        Tested("tests/integration/stores/test_stale_leaders.py::test_s25_who_pauses_stops_a_purge_that_runs[dynamodb]"),
    ),
    Mutant(
        "a group is parked",
        _RUNNING,
        "max_failures=_NO_LIMIT, max_lost_leases=_NO_LIMIT, ",
        "max_lost_leases=_NO_LIMIT, ",
        "duties that failed five times never run again",
        _run("test_where_all_duties_fail_the_group_has_failed_and_is_never_parked"),
    ),
    Mutant(
        "a new group does not wait",
        _RUNNING,
        "        if lease.partition.progress_state is None and self._start_delay:\n",
        "        if lease.partition.progress_state is None and not self._start_delay:\n",
        "a scheduler that has just come acts before it knows anything",
        _run("test_before_its_first_run_a_group_waits_for_the_start_delay"),
    ),
    Mutant(
        "a run must not come too early",
        _RUNNING,
        "group.period - early - after.took",
        "group.period - after.took",
        "a schedule of the same period misses every other run",
        _run("test_a_group_is_run_once_in_its_period_whoever_asks"),
    ),
    Mutant(
        "a pause is not looked for",
        _RUNNING,
        "            paused = cluster.config.pause_coordination\n",
        "            paused = False\n",
        "duties work while people have paused them",
        _run("test_while_paused_no_duty_is_run_and_the_period_goes_on"),
    ),
    Mutant(
        "a duty that fails forgets",
        _STATE,
        "error=text, took=took,",
        "error=text, left=None, took=took,",
        "after one error everything is looked at again",
        _run("test_what_a_duty_has_left_stays_when_it_fails"),
    ),
    Mutant(
        "after a break a leader has led all the time",
        _STATE,
        "        return now if self.led_since is None or lost else self.led_since\n",
        "        return self.led_since or now\n",
        "who has just come deletes at once",
        _run("test_who_comes_after_a_long_break_has_led_since_now"),
    ),
    Mutant(
        "time alone changes nothing",
        _MARKS,
        "seen != self.seen or now >= self.until",
        "seen != self.seen",
        "what rules drop by its age is never hidden",
        _duty("test_rules_are_applied_again_when_something_is_new"),
    ),
    Mutant(
        "what deletes does not wait",
        _DELETING,
        "    if led < round.config.wait_before_deleting and not round.dry_run:\n",
        "    if led < timedelta(0) and not round.dry_run:\n",
        "who has just come deletes at once",
        _duty("test_nothing_is_deleted_before_the_group_was_led_for_long_enough"),
    ),
    Mutant(
        "the list of what may be deleted is not looked at",
        _DELETING,
        "if round.config.may_delete_of(coordinator.source, each)]",
        "if each]",
        "what nobody has allowed is deleted",
        _duty("test_the_purge_leaves_datasets_that_are_not_in_the_list"),
    ),
    Mutant(
        "a dry run of rules hides",
        _HIDING,
        "apply_rules(coordinator, by=RunRules.name, why=_WHY, dry_run=dry_run)",
        "apply_rules(coordinator, by=RunRules.name, why=_WHY)",
        "a look changes what readers see",
        _duty("test_a_dry_run_of_rules_changes_nothing"),
    ),
    Mutant(
        "each source has slots of its own",
        _TOGETHER,
        "    return Counter(taken)\n",
        "    return Counter({planner: len(row) for planner in looked})\n",
        "compaction takes as many workers as there are sources",
        _duty("test_compaction_begins_with_the_newest_of_all_sources"),
    ),
    Mutant(
        "what waits does not see that a group has ended",
        _STANDS,
        "    return Stands(ended, outlook.completed, ",
        '    return Stands("", 0, ',
        "a slot is free, and what waits for it is begun a day later",
        _stands("test_everything_is_looked_at_when_something_may_go_on[ends]"),
    ),
    Mutant(
        "what waits does not see that a person has parked a group",
        _STANDS,
        "    return Stands(ended, outlook.completed, outlook.parked, ",
        "    return Stands(ended, outlook.completed, 0, ",
        "a parked group keeps its slot from what waits",
        _stands("test_everything_is_looked_at_when_something_may_go_on[is_parked]"),
    ),
    Mutant(
        "what has failed is taken for what stands",
        _STANDS,
        "State.UNDER_WAY, State.NO_SLOT, State.LEFT})",
        "State.UNDER_WAY, State.NO_SLOT, State.LEFT, State.FAILED})",
        "a group that has failed is not tried again when its time has come",
        _stands("test_what_has_failed_is_looked_at_each_time"),
    ),
    Mutant(
        "sources that wait are not planned with one in which something is new",
        _TOGETHER,
        " if news.is_new or news.still}",
        " if news.is_new}",
        "their groups are not counted: more run than there are slots, and not the newest first",
        _stands("test_sources_that_share_slots_go_on_when_a_group_of_any_ends"),
    ),
    Mutant(
        "a source that could not be planned beside another is forgotten",
        _TOGETHER,
        "                    planner.forget_still(lease)\n",
        "                    pass\n",
        "a slot was free for it, and it is begun a day later",
        _stands("test_a_source_that_cannot_be_planned_when_its_turn_comes_is_looked_at_each_time"),
    ),
)
