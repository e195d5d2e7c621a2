"""Copies are made where rules want them, the new before the old."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.copies.grace import counts
from airflow_coordination.planning.copies.location import Copyable, Location, assign
from airflow_coordination.planning.copies.placement import Copy, Placed, place, seen_twice
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.rules.reading import read_rules
from airflow_coordination.values.input_errors import InvalidInputError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def day(number, size=1):
    start = NOW - timedelta(days=number)
    return Placed(Interval(start, start + timedelta(days=1)), Copyable(number, size))


def wants(**tiers):
    return read_rules("rules", [{"type": "loadForever", "tieredReplicants": tiers}])


def has(name, tier, *held, capacity=100, **more):
    return Location(name, tier, capacity, len(held), frozenset(held), **more)


def done(locations, plan):
    """Return the locations after a plan."""
    there = {one.name: one for one in locations}
    for copy in plan.drop:
        there[copy.location] = there[copy.location].without_copy(Copyable(copy.name, 1))
    for copy in plan.make:
        there[copy.location] = there[copy.location].with_copy(Copyable(copy.name, 1))
    return list(there.values())


def test_a_change_of_tiers_makes_the_new_copy_first_and_drops_the_old_in_the_next_run():
    locations = [has("h", "hot", 1), has("c", "cold")]
    first = place([day(1)], wants(cold=1), locations, NOW)
    assert (first.make, first.drop) == ([Copy(1, "c", "cold")], [])
    locations = done(locations, first)
    second = place([day(1)], wants(cold=1), locations, NOW)
    assert (second.make, second.drop) == ([], [Copy(1, "h", "hot")])
    third = place([day(1)], wants(cold=1), done(locations, second), NOW)
    assert (third.make, third.drop) == ([], [])


cases = st.lists(
    st.tuples(st.sampled_from(["hot", "cold"]), st.sets(st.integers(1, 4)), st.booleans()), min_size=1, max_size=6
)


@given(cases, st.integers(0, 3), st.integers(0, 3), st.none() | st.integers(0, 3))
def test_no_run_leaves_anything_with_fewer_copies_than_before_or_than_wanted(given_places, hot, cold, further):
    """And runs come to an end: what is wanted is there as far as there is a place, and nothing goes to and fro."""
    locations = [has(f"l{n}", tier, *held, draining=d) for n, (tier, held, d) in enumerate(given_places)]
    days, rules = [day(n) for n in range(1, 5)], wants(hot=hot, cold=cold)
    for _ in range(60):
        plan = place(days, rules, locations, NOW, most_further=further)
        after = done(locations, plan)
        for number in range(1, 5):
            before, now = (sum(number in one.holds for one in row) for row in (locations, after))
            assert now >= min(before, hot + cold)
            assert sum(copy.is_first for copy in plan.make if copy.name == number) <= 1
        assert further is None or sum(not copy.is_first for copy in plan.make) <= further
        locations = after
        if not plan.make and not plan.drop:
            break
    else:
        pytest.fail("it goes to and fro")
    if further is None:
        for tier, replicas in (("hot", hot), ("cold", cold)):
            there = [one for one in locations if one.tier == tier and not one.draining]
            for number in range(1, 5):
                assert sum(number in one.holds for one in there) >= min(replicas, len(there))


def test_the_newest_gets_the_room_and_the_rest_waits():
    plan = place([day(3), day(1), day(2)], wants(hot=1), [has("h", "hot", capacity=2)], NOW)
    assert [copy.name for copy in plan.make] == [1, 2]
    assert (plan.waiting, plan.required) == ([("hot", 3)], {"hot": 3})


def test_what_a_rule_drops_is_hidden_and_its_copies_go():
    rules = read_rules("rules", [{"type": "dropByPeriod", "period": "P1D"}, *[{"type": "dropForever"}]])
    plan = place([day(1)], rules, [has("a", "hot", 1), has("b", "hot", 1)], NOW)
    assert (plan.hide, len(plan.drop), plan.make) == ([1], 2, [])


def test_zero_copies_keep_without_a_copy():
    plan = place([day(1)], wants(hot=0), [has("a", "hot", 1), has("b", "hot")], NOW)
    assert (plan.hide, plan.drop, plan.make, plan.no_such_tier) == ([], [Copy(1, "a", "hot")], [], {})


def test_a_broadcast_has_one_copy_everywhere_but_where_it_is_drained():
    rules = read_rules("rules", [{"type": "broadcastForever"}])
    locations = [has("a", "hot"), has("b", "cold"), has("c", "cold", 1, draining=True)]
    plan = place([day(1)], rules, locations, NOW)
    assert {copy.location for copy in plan.make} == {"a", "b"}
    assert {copy.location for copy in place([day(1)], rules, done(locations, plan), NOW).drop} == {"c"}


def test_what_no_rule_applies_to_is_left_and_told_once():
    rules = read_rules(
        "rules", [{"type": "loadByInterval", "interval": "2020-01-01/P1D", "tieredReplicants": {"hot": 1}}]
    )
    plan = place([day(n) for n in range(1, 13)], rules, [has("a", "hot", *range(1, 13))], NOW)
    assert (len(plan.unmatched), plan.drop, plan.make) == (12, [], [])
    assert plan.warnings == ["no rule applies to 12 intervals, such as 1, 2, 3, 4, 5, 6, 7, 8, 9, 10"]
    assert place([day(1)], wants(new=1), [has("a", "hot")], NOW).warnings == [
        "tier 'new' has no location; 1 intervals want copies there"
    ]


def test_a_location_that_is_lost_counts_within_the_grace_and_gets_nothing():
    """The seed's lifetime of dropped segments; Druid issue 17594: one restart copied everything anew."""
    lost = has("a", "hot", 1, lost_since=NOW - timedelta(minutes=5))
    locations = [lost, has("b", "hot")]
    assert place([day(1)], wants(hot=1), locations, NOW, grace=timedelta(minutes=6)).make == []
    assert place([day(1)], wants(hot=1), locations, NOW, grace=timedelta(minutes=5)).make == [Copy(1, "b", "hot", True)]
    assert place([day(1)], wants(hot=0), locations, NOW, grace=timedelta(minutes=6)).drop == []
    assert place([day(1)], wants(hot=2), [lost], NOW).waiting == [("hot", 1)]


def test_back_late_what_it_holds_is_surplus():
    plan = place([day(1)], wants(hot=1), [has("a", "hot", 1), has("b", "hot", 1, 2)], NOW)
    assert len(plan.drop) == 1
    assert plan.make == []


def test_only_what_two_runs_have_seen_is_dropped():
    one, other = Copy(1, "a", "hot"), Copy(2, "a", "hot")
    assert seen_twice([one, other], []) == []
    assert seen_twice([one, other], [Copy(2, "a", "cold")]) == [other]


def test_each_goes_to_the_least_used_one_looked_at_anew():
    there = [Location("a", capacity=10, used=6), Location("b", capacity=10, used=2), Location("c", capacity=20, used=8)]
    after, waiting = assign([Copyable(n, 1) for n in range(12)], there)
    assert {name: one.used for name, one in after.items()} == {"a": 7, "b": 7, "c": 14}
    _, waiting = assign([Copyable("large", 11)], there[:2])
    assert waiting == [Copyable("large", 11)]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Location("a", capacity=0), r"location\[a\]\.capacity=0: is no room. Give bytes above zero"),
        (lambda: Location("a", used=-1), r"location\[a\]\.used=-1: is negative"),
        (lambda: place([], [], [has("a", "x"), has("a", "y")], NOW), r"location\.name='a': is there twice. Give each"),
        (lambda: counts(datetime(2026, 1, 1), timedelta(0), NOW), "lost_since=.*has no time zone"),  # noqa: DTZ001
        (lambda: counts(NOW, timedelta(seconds=-1), NOW), "grace=.*is negative"),
    ],
)
def test_what_makes_no_sense_is_refused(made, message):
    with pytest.raises(InvalidInputError, match=message):
        made()


def test_the_grace_ends_at_its_instant_and_none_is_none():
    grace = timedelta(seconds=300)
    assert [counts(NOW, grace, NOW + timedelta(seconds=n)) for n in (0, 299, 300)] == [True, True, False]
    assert not counts(NOW, timedelta(0), NOW)
