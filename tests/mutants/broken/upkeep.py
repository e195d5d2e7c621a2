"""Mutants of what is decided about what partitions publish: timelines, compaction, copies, and what may go."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested


def _unit(module: str, test: str) -> Tested:
    return Tested(f"tests/unit/planning/{module}.py::{test}")


_DAYS = _unit("test_timeline", "test_each_day_shows_its_newest_complete_version")
_SEARCHED = _unit("compaction/test_search", "test_everything_is_judged_once_and_what_is_taken_is_allowed")
_PLACED = _unit("copies/test_placement", "test_no_run_leaves_anything_with_fewer_copies_than_before_or_than_wanted")
_MOVED = _unit("copies/test_balance", "test_every_move_is_strictly_better_and_there_are_no_more_than_allowed")
_MARKED = _unit("unused/test_unused", "test_what_is_marked_shows_nowhere_even_if_only_what_is_served_counts")
_DELETED = _unit("unused/test_unused", "test_nothing_is_deleted_within_a_margin")
_RULED = Tested("tests/properties/test_rules_applied.py::test_exactly_what_rules_drop_is_hidden_by_them")

MUTANTS = (
    Mutant(
        "a version without all its parts shows",
        "planning.timeline",
        "whole = _on_top([group for group in groups if group.is_complete])",
        "whole = _on_top(groups)",
        "readers see half of what was published, and the older whole is hidden",
        _DAYS,
    ),
    Mutant(
        "the older version shows",
        "planning.timeline",
        "{version: -number for",
        "{version: number for",
        "what was replaced is read again",
        _DAYS,
    ),
    Mutant(
        "what has ended goes on showing",
        "planning.timeline",
        "groups[begun[0][1]].interval.end <= moment",
        "groups[begun[0][1]].interval.end < moment",
        "a version shows one stretch beyond its end",
        _DAYS,
    ),
    Mutant(
        "half an attempt is never garbage",
        "planning.timeline",
        "(shown if group.is_complete else on_top)",
        "shown if group.is_complete else {id(group)}",
        "attempts that were given up stay for ever",
        _unit("test_timeline", "test_a_half_published_attempt_is_garbage_when_a_newer_one_exists"),
    ),
    Mutant(
        "PT is a period",
        "planning.periods",
        ' or form["clock"] == "T":',
        ":",
        "P1DT passes, as in isodate, and its writer has forgotten something",
        _unit("test_periods", "test_what_is_no_period_is_refused_with_what_to_write"),
    ),
    Mutant(
        "a month is thirty days",
        "planning.periods",
        "return _moved(moment, -self.months, -self.rest)",
        "return _moved(moment, 0, -self.rest - self.months * timedelta(days=30))",
        "what is kept for a month goes a day too early",
        _unit("test_periods", "test_what_lies_a_period_away"),
    ),
    Mutant(
        "a chunk is done by some of it",
        "planning.compaction.search",
        "if new := sum(head.merged_with is None for head in part.heads):",
        "if (new := sum(head.merged_with is None for head in part.heads)) == len(part.heads):",
        "what was published after a compaction is never merged",
        _unit("compaction/test_search", "test_a_chunk_above_the_limit_is_merged_in_parts_that_stay"),
    ),
    Mutant(
        "what is locked in a part is searched",
        "planning.compaction.search",
        "if any(place.overlaps(interval) for place in places):",
        "if any(interval.contains(place) for place in places):",
        "a compaction begins where a backfill is at work",
        _unit("compaction/test_search", "test_a_chunk_that_partly_lies_in_what_is_locked_is_left_whole"),
    ),
    Mutant(
        "what is too large is taken",
        "planning.compaction.search",
        "if reason in TO_DO and size > config.input_bytes:",
        "if reason in TO_DO and size > 2 * config.input_bytes:",
        "a run reads more than it may",
        _SEARCHED,
    ),
    Mutant(
        "what was merged moves to another part",
        "planning.compaction.chunks",
        "        if head.part is not None:\n            parts",
        "        if head.part is not None and head.part < 0:\n            parts",
        "a part lets go of rows that its merged file has, and nobody else has",
        _unit("compaction/test_chunks", "test_parts_are_below_the_limit_and_sticky"),
    ),
    Mutant(
        "nothing may run",
        "planning.compaction.slots",
        "max(self.at_least, limit)",
        "limit",
        "with few workers nothing is ever compacted, against the seed",
        _unit("compaction/test_slots", "test_at_least_one_when_nothing_runs_and_never_more_than_the_limit"),
    ),
    Mutant(
        "the old copy goes before the new one is there",
        "planning.copies.placement",
        "if location.lost_since is None and spare > 0 and",
        "if location.lost_since is None and",
        "a change of tiers leaves a time without any copy",
        _PLACED,
    ),
    Mutant(
        "a move may be one too many",
        "planning.copies.balance",
        "if after[1].utilisation <= after[0].utilisation:",
        "if after[1].utilisation > low.utilisation:",
        "copies move to and fro in a quiet tier",
        _MOVED,
    ),
    Mutant(
        "what is hidden by what nobody can read is marked",
        "planning.unused.deleting",
        "timeline(one for one in row if one.name in served)",
        "timeline(row)",
        "the old goes while the new cannot be read yet",
        _MARKED,
    ),
    Mutant(
        "one margin is enough",
        "planning.unused.deleting",
        "return ended and one.marked",
        "return ended or one.marked",
        "a wrong click deletes a year (Druid issues 5305, 6873)",
        _DELETED,
    ),
    Mutant(
        "what began before the window is dropped",
        "planning.rules.rule",
        "reach.contains(interval) if self.type.drops else reach.overlaps(interval)",
        "reach.overlaps(interval) if self.type.drops else reach.contains(interval)",
        "a month is dropped while part of it is to be kept (Druid issues 6387, 1362)",
        _unit("rules/test_rules", "test_what_has_begun_before_the_window_is_kept_until_it_is_wholly_outside"),
    ),
    Mutant(
        "what rules hide reaches across a gap that they keep",
        "planning.view.ruling",
        "if found and dropped(longer) is not None:",
        "if found:",
        "what is published into the gap is hidden, though a rule keeps it",
        _unit("test_ruling", "test_an_entry_does_not_reach_across_what_rules_keep"),
    ),
    Mutant(
        "rules restore what a person has hidden",
        "planning.view.ruling",
        "each.by_rules and not each.purging]",
        "not each.purging]",
        "wrong rows come back because somebody has changed the rules",
        _RULED,
    ),
    Mutant(
        "two entries are one since the earlier time",
        "planning.view.ruling",
        "(max(one.since, other.since), number)",
        "(min(one.since, other.since), number)",
        "a purge deletes within its margin",
        Tested(
            "tests/properties/test_rules_applied.py"
            "::test_days_that_go_one_by_one_take_no_more_entries_than_there_may_be"
        ),
    ),
    Mutant(
        "a person hides nothing that rules hide already",
        "planning.view.changing",
        "(by == BY_RULES or not each.by_rules)",
        "True",
        "it comes back when the rules change, although a person has hidden it",
        _unit("test_ruling", "test_what_a_person_hides_too_stays_when_rules_let_it_go"),
    ),
    Mutant(
        "what is hidden is there",
        "planning.view.slices",
        "slices if each.state is SliceState.THERE)",
        "slices if each.state is not SliceState.IN_BRANCH)",
        "a sensor starts what reads nothing",
        _unit("test_slices", "test_what_is_hidden_is_not_missing_but_not_there_either"),
    ),
    Mutant(
        "a look at an interval misses what is newer elsewhere",
        "outputs.heads.showing",
        "None if view.shown else within",
        "within",
        "what a branch had before shows in it again",
        Tested("tests/unit/outputs/test_availability.py::test_while_a_branch_shows_a_newer_head_elsewhere_counts"),
    ),
)
