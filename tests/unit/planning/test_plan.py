"""What the planner says of small listings; tests/properties has it on random ones, tests/cases on those of the KCL."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_coordination.streams import TRIM_HORIZON, InconsistentListingError, NewLease, Position, Shard, first, plan
from airflow_coordination.values.input_errors import InvalidInputError

LATEST = Position.latest(datetime(2026, 11, 23, tzinfo=UTC))
AT_200 = Position.at_timestamp(datetime.fromtimestamp(200, UTC))

# 0 1 2 3 4   5    - shards till epoch 102
# \ / \ / |   |
#  6   7  4   5    - shards from epoch 103 - 205
#  \  /   |  / \
#    8    4 9  10  - shards from epoch 206+ (still open)
SEED = [
    *(Shard(f"{number}", (), 11, 102) for number in range(4)),
    Shard("4", (), 11),
    Shard("5", (), 11, 205),
    Shard("6", ("0", "1"), 103, 205),
    Shard("7", ("2", "3"), 103, 205),
    Shard("8", ("6", "7"), 206),
    Shard("9", ("5",), 206),
    Shard("10", ("5",), 206),
]


@pytest.mark.parametrize(
    ("position", "expected"),
    [(LATEST, ["6"]), (TRIM_HORIZON, ["0", "1"]), (AT_200, ["0", "1"])],
    ids=["LATEST", "TRIM_HORIZON", "AT_TIMESTAMP"],
)
def test_seed_example_4_5_7_held(position, expected):
    """KCL, lease-lifecycle.md: LATEST creates 6, TRIM_HORIZON and AT_TIMESTAMP(200) create 0 and 1."""
    held = dict.fromkeys(["4", "5", "7"], False)
    assert plan(SEED, held, position) == [NewLease(name, position) for name in expected]


def test_a_shard_with_a_leased_descendant_is_never_started_again():
    """KCL creates 0 and 1 here, and reads again what lies before 8."""
    assert plan(SEED, {"4": False, "8": False, "5": False}, TRIM_HORIZON) == []


def test_nor_is_it_where_an_old_listing_has_it_still_open():
    assert plan([Shard("0"), Shard("1", ("0",), 5)], {"1": False}, LATEST, ignore_unexpected_child_shards=True) == []


def test_children_of_finished_parents_begin_at_their_first_record():
    held = {"4": False, "5": True, "6": True, "7": True}
    news = plan(SEED, held, LATEST)
    assert news == [
        NewLease("10", TRIM_HORIZON, ("5",)),
        NewLease("8", TRIM_HORIZON, ("6", "7")),
        NewLease("9", TRIM_HORIZON, ("5",)),
    ]
    assert {new.position for new in plan(SEED, held, AT_200)} == {AT_200}


def test_a_merged_shard_waits_for_both_parents():
    assert plan(SEED, {"4": False, "5": False, "6": True, "7": False}, TRIM_HORIZON) == []


def test_what_only_a_passed_shard_leads_to_is_started_itself():
    """0 has a lease, and so has 2; 1 between them is passed and will never be read, so 3 must be."""
    line = [Shard("0", (), 0, 9), Shard("1", ("0",), 10, 19), Shard("2", ("1",), 20), Shard("3", ("1",), 20)]
    assert plan(line, {"0": False, "2": False}, LATEST) == [NewLease("3", LATEST)]
    below = [*line[:3], Shard("3", ("1",), 20, 29), Shard("4", ("3",), 30)]
    assert plan(below, {"0": False, "2": False}, LATEST) == [NewLease("4", LATEST)]


def test_the_oldest_leases_are_created_first():
    young_first = [Shard("a", (), 30), Shard("b", (), 20), Shard("c", (), 10)]
    assert [new.shard for new in plan(young_first, {}, LATEST)] == ["c", "b", "a"]
    later = [Shard("z", (), 0, 50), Shard("x", (), 10), Shard("y", ("z",), 51)]
    assert [new.shard for new in plan(later, {}, TRIM_HORIZON)] == ["z", "x"]


def test_a_trimmed_parent_does_not_exist():
    assert plan(SEED[4:], {"4": False, "5": False}, TRIM_HORIZON) == [
        NewLease("6", TRIM_HORIZON),
        NewLease("7", TRIM_HORIZON),
    ]


def test_leases_of_shards_that_the_listing_lacks_lead_nowhere():
    assert plan([Shard("a", ("gone",))], {"gone": False}, TRIM_HORIZON) == [NewLease("a", TRIM_HORIZON)]


def test_an_open_child_of_an_open_parent_is_refused_or_left_out():
    torn = [Shard("0"), Shard("1", ("0",), 5), Shard("2")]
    with pytest.raises(
        InconsistentListingError, match=r"open parent: 1\. .*list it again.*ignore_unexpected_child_sha"
    ) as e:
        plan(torn, {}, TRIM_HORIZON)
    assert e.value.shards == ("1",)
    news = plan(torn, {}, TRIM_HORIZON, ignore_unexpected_child_shards=True)
    assert [new.shard for new in news] == ["0", "2"]


def test_a_circle_is_refused_by_name():
    with pytest.raises(InvalidInputError, match=r"parents='(a < b < a|b < a < b)': is a circle"):
        plan([Shard("a", ("b",)), Shard("b", ("a",))], {}, TRIM_HORIZON)


def test_a_shard_that_is_listed_twice_is_refused_by_name():
    with pytest.raises(InvalidInputError, match="id='a': is listed twice"):
        first([Shard("a"), Shard("a", (), 7)], TRIM_HORIZON)


def test_a_lineage_of_20_000_reshards_is_planned():
    """Neither by recursion, nor looking at an ancestor twice."""
    line = [Shard("0", (), 0, 0), *(Shard(f"{at}", (f"{at - 1}",), at, at) for at in range(1, 20_000))]
    line += [Shard("open", ("19999",), 20_000)]
    assert plan(line, {}, TRIM_HORIZON) == [NewLease("0", TRIM_HORIZON)]
    assert plan(line, {"10": False}, TRIM_HORIZON) == []


@pytest.mark.parametrize(
    ("position", "instant", "expected"),
    [
        (TRIM_HORIZON, None, ["0", "1", "2", "3", "4", "5"]),
        (LATEST, None, ["4", "10", "8", "9"]),
        (AT_200, 200, ["4", "5", "6", "7"]),
        (AT_200, 1000, ["4", "10", "8", "9"]),
        (AT_200, 3, ["0", "1", "2", "3", "4", "5"]),
    ],
)
def test_an_empty_stream_begins_with_what_is_alive(position, instant, expected):
    assert first(reversed(SEED), position, instant) == [NewLease(name, position) for name in expected]


def test_no_instant_falls_between_a_parent_and_its_child():
    """The child begins at the first record, which may be long after its parent's end."""
    quiet = [Shard("a", (), 0, 100), Shard("b", ("a",), 150)]
    assert [new.shard for new in first(quiet, AT_200, 120)] == ["b"]


def test_at_timestamp_takes_a_filtered_listing_as_it_is():
    """Where a source ignores the filter, children wait for their parents, and each begins at the time."""
    news = first([Shard("a", (), 0, 9), Shard("b", ("a",), 10)], AT_200)
    assert news == [NewLease("a", AT_200), NewLease("b", AT_200, ("a",))]


def test_an_instant_belongs_to_at_timestamp():
    with pytest.raises(InvalidInputError, match="instant=5: does not go with LATEST"):
        first(SEED, LATEST, 5)
