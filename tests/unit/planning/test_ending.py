"""A shard's end waits for nobody, and a finished lease stays while it is needed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from airflow_coordination.streams import TRIM_HORIZON, NewLease, Position, Shard, ShardEnd, at_shard_end, may_go

DAY = timedelta(days=1)
LEFT, RIGHT = Shard("left", ("p",), 5), Shard("right", ("p",), 6)
MERGED = Shard("merged", ("p", "q"), 5)


def test_a_split_creates_both_children_and_completes():
    news = (NewLease("left", TRIM_HORIZON, ("p",)), NewLease("right", TRIM_HORIZON, ("p",)))
    assert at_shard_end([RIGHT, LEFT], {"p"}) == ShardEnd(news, complete=True)


def test_a_child_that_is_there_is_not_created_again():
    assert at_shard_end([LEFT, RIGHT], {"p", "left", "right"}) == ShardEnd((), complete=True)


def test_the_child_of_a_merge_names_both_parents():
    assert at_shard_end([MERGED], {"p", "q"}).create == (NewLease("merged", TRIM_HORIZON, ("p", "q")),)


def test_an_end_never_waits_for_a_child():
    """KCL tries again for ever here: the lease can never end."""
    assert at_shard_end([MERGED], {"p"}) == ShardEnd((), complete=True)


def test_children_never_begin_before_a_timestamp():
    at = Position.at_timestamp(datetime(2026, 1, 1, tzinfo=UTC))
    assert at_shard_end([LEFT], {"p"}, at).create == (NewLease("left", at, ("p",)),)


@pytest.mark.parametrize("unfit", [{"held": False}, {"read_to_end": False}])
def test_who_lost_the_lease_or_has_not_read_it_all_does_nothing(unfit):
    assert at_shard_end([LEFT], {"p"}, **unfit) == ShardEnd((), complete=False)


@pytest.mark.parametrize(
    ("children", "parents", "finished_for", "more", "expected"),
    [
        ({"a": True, "b": True}, (), DAY, {}, True),
        ({"a": True, "b": False}, (), DAY, {}, False),
        ({"a": True, "b": None}, (), DAY, {}, False),
        ({"a": True}, ("p",), DAY, {}, False),
        ({"a": True}, (), DAY - timedelta(seconds=1), {}, False),
        ({"a": True}, (), DAY, {"enabled": False}, False),
        ({}, (), DAY, {}, False),
        (None, (), DAY, {}, False),
        (None, ("p",), timedelta(0), {"source_gone": True, "enabled": False}, True),
    ],
)
def test_when_a_finished_lease_may_go(children, parents, finished_for, more, expected):
    assert may_go(children, parents, finished_for, **more) is expected
