"""Mutants of the planner of streams."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_PLAN = "planning.shards.plan"
_RANDOM = Tested("tests/properties/test_planner.py::test_planner_on_1_000_hierarchies")


def _unit(module: str, test: str) -> Tested:
    return Tested(f"tests/unit/planning/test_{module}.py::{test}")


MUTANTS = (
    Mutant(
        "what lies before a lease is started again",
        _PLAN,
        "self._passed = self.lineage.ancestors(self.leased) - self.leased.keys()",
        "self._passed = set[str]()",
        "a shard with a leased descendant is restarted, as the KCL does, and read twice",
        _RANDOM,
    ),
    Mutant(
        "a passed shard that is listed as open is started",
        _PLAN,
        "if name in self.leased or name in self._passed:",
        "if name in self.leased:",
        "an old listing restarts a shard whose child has a lease",
        _RANDOM,
    ),
    Mutant(
        "a passed shard leads to its children",
        _PLAN,
        "(name not in self._passed and covered.intersection(self.lineage.parents[name]))",
        "covered.intersection(self.lineage.parents[name])",
        "an open shard is taken for covered by a lease that will never lead to it",
        _unit("plan", "test_what_only_a_passed_shard_leads_to_is_started_itself"),
    ),
    Mutant(
        "a child is created after its first parent",
        _PLAN,
        "all(self.leased.get(parent, False) for parent in above)",
        "any(self.leased.get(parent, False) for parent in above)",
        "the child of a merge is started while its other parent has no lease: that one is never read",
        _RANDOM,
    ),
    Mutant(
        "children begin at the position",
        _PLAN,
        "self.new[name] = self.position.of_descendants",
        "self.new[name] = self.position",
        "at LATEST records between a parent's end and the look at its children are skipped",
        _RANDOM,
    ),
    Mutant(
        "what no lease leads to waits for its parents",
        _PLAN,
        "elif led or (above and self.position.start is not Start.LATEST):",
        "elif above:",
        "at LATEST a stream without leases is read from its oldest record",
        _unit("plan", "test_seed_example_4_5_7_held[LATEST]"),
    ),
    Mutant(
        "a merge partner is not started",
        _PLAN,
        "elif led or (above and self.position.start is not Start.LATEST):",
        "elif above and self.position.start is not Start.LATEST:",
        "at LATEST a shard is started before the parent that has a lease has ended",
        _unit("plan", "test_seed_example_4_5_7_held[LATEST]"),
    ),
    Mutant(
        "a plan is created in any order",
        _PLAN,
        "for one in self.lineage.in_order(self.new)\n",
        "for one in map(self.lineage.shards.__getitem__, self.new)\n",
        "the youngest lease is created first",
        _unit("plan", "test_the_oldest_leases_are_created_first"),
    ),
    Mutant(
        "a torn listing is planned",
        _PLAN,
        "if odd and not ignore_unexpected_child_shards:",
        "if False:",
        "a listing that was taken during a reshard passes in silence",
        _unit("plan", "test_an_open_child_of_an_open_parent_is_refused_or_left_out"),
    ),
    Mutant(
        "odd shards are started",
        _PLAN,
        "if shard.is_open and shard.id not in odd:",
        "if shard.is_open:",
        "a shard is started while its parent is open",
        _RANDOM,
    ),
    Mutant(
        "an instant falls between a parent and its child",
        _PLAN,
        "(_lasts(shard, instant) and not any(_lasts(parent, instant) for parent in above))",
        "(_lasts(shard, instant) and shard.start <= instant)",
        "at a time when a shard had ended and its child had no record yet, neither gets a lease",
        _unit("plan", "test_no_instant_falls_between_a_parent_and_its_child"),
    ),
    Mutant(
        "LATEST is whenever somebody reads",
        "planning.shards.position",
        "if (self.since is None) is not (self.start is Start.TRIM_HORIZON):",
        "if self.start is Start.AT_TIMESTAMP and self.since is None:",
        "a LATEST without its instant moves with each owner, and skips what came between two",
        _unit("position", "test_what_is_no_position_is_refused_by_name"),
    ),
    Mutant(
        "a shard's end waits for a child",
        "planning.shards.plan",
        "complete=True)",
        "complete=len(wanted) == len(there.union(one.id for one in by_id(children).values()) - there))",
        "the lease of a merge's parent can never end while the other parent has none, as in the KCL",
        _unit("ending", "test_an_end_never_waits_for_a_child"),
    ),
    Mutant(
        "a child without its other parent is created",
        "planning.shards.plan",
        "if one.id not in there and there.issuperset(one.parents)]",
        "if one.id not in there]",
        "a child names a parent that has no lease: the store refuses it, or it starts too early",
        _RANDOM,
    ),
    Mutant(
        "children read what came before the time",
        "planning.shards.plan",
        "NewLease(one.id, position.of_descendants, one.parents)",
        "NewLease(one.id, TRIM_HORIZON, one.parents)",
        "at AT_TIMESTAMP records before the time are read, as in the KCL",
        _RANDOM,
    ),
    Mutant(
        "a lost lease ends a shard",
        "planning.shards.plan",
        "if not (read_to_end and held):",
        "if not read_to_end:",
        "an owner that lost its lease creates children",
        _unit("ending", "test_who_lost_the_lease_or_has_not_read_it_all_does_nothing"),
    ),
    Mutant(
        "an ended lease goes before its children started",
        "protocol.hierarchy",
        "return all(children.values())",
        "return all(started is not None for started in children.values())",
        "the lease that says that a shard is done with is removed while its child has not begun",
        _unit("ending", "test_when_a_finished_lease_may_go"),
    ),
    Mutant(
        "the last range decides",
        "planning.shards.coverage",
        "reached = max(reached, one.last + 1)",
        "reached = one.last + 1",
        "a hole is seen behind a short range inside of a long one, as the KCL does",
        _unit("coverage", "test_a_short_range_inside_of_a_long_one_hides_nothing"),
    ),
    Mutant(
        "another hole counts on",
        "planning.shards.coverage",
        "self.times + 1 if hole == self.hole else 1",
        "self.times + 1",
        "three different short-lived holes during a reshard list the stream anew",
        _unit("coverage", "test_another_hole_begins_anew"),
    ),
    Mutant(
        "a difference of one moves a lease",
        "planning.shares",
        "number = min(need, excess, (held[name] - mine) // 2)",
        "number = min(need, excess)",
        "leases wander between workers for ever, whoever comes first by name",
        _unit("shares", "test_for_a_difference_of_one_nothing_moves"),
    ),
    Mutant(
        "what was asked for does not count",
        "planning.shares",
        "share[me] - mine - asked",
        "share[me] - mine",
        "a worker asks again for what is on its way to it, and gets more than its share",
        _unit("shares", "test_what_was_asked_for_counts"),
    ),
    Mutant(
        "who has its share leaves the rest",
        "planning.shares",
        "waiting = max(free.very_old, 1 if free.looks >= LOOKS else 0)",
        "waiting = 0",
        "the leases of a member that cannot take any stay free for ever",
        _unit("shares", "test_at_its_share_it_takes_only_what_has_been_free_for_long"),
    ),
)
