"""How far, how fast, until when."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.monitoring.progress import WINDOW, Pace, Progress, Rate, rate_of
from airflow_coordination.protocol.results import Outlook

MINUTE = 60.0


def test_the_rate_is_that_of_the_window():
    pace = Pace()
    assert pace.progress(Outlook(completed=4), 100.0).rate is None
    assert pace.progress(Outlook(completed=6), 100.0 + MINUTE).rate.per_minute == pytest.approx(2)
    assert pace.progress(Outlook(completed=12), 100.0 + 2 * MINUTE).rate.per_minute == pytest.approx(4)
    # The first look is older than the window now, the second is not.
    at = 101.0 + WINDOW.total_seconds()
    assert pace.progress(Outlook(completed=30), at).rate.per_minute == pytest.approx(24 * 60 / (at - 160))


def test_the_rest_at_this_rate():
    seen = Progress(Outlook(claimable=3, assigned=2, waiting=1, parked=4, completed=10), Rate(2.0, 1.5, 3.0))
    assert (seen.left, seen.total, seen.remaining) == (6, 20, timedelta(minutes=3))
    assert (seen.soonest, seen.latest) == (timedelta(minutes=2), timedelta(minutes=4))


@pytest.mark.parametrize("rate", [None, Rate(0.0, 0.0, 1.0), Rate(-1.0, 0.0, 1.0), Rate(5e-324, 0.0, 1.0)])
def test_no_time_is_made_up_where_nothing_moves(rate):
    seen = Progress(Outlook(claimable=1), rate)
    assert (seen.remaining, seen.soonest, seen.latest) == (None, None, None)


def test_looks_at_an_even_pace_make_it_sure():
    pace = Pace()
    for look in range(121):
        seen = pace.progress(Outlook(claimable=60, completed=look), look * 2.0)
    assert (seen.rate.per_minute, seen.remaining) == (pytest.approx(30), timedelta(minutes=2))
    assert timedelta(minutes=1.9) < seen.soonest < seen.remaining < seen.latest < timedelta(minutes=2.1)


@given(st.builds(Outlook, *[st.integers(0, 10**9)] * 5), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 99))))
def test_the_time_left_lies_within_its_spread(outlook, happened):
    rate = rate_of([(timedelta(seconds=after), number) for after, number in happened], timedelta(hours=1))
    seen = Progress(outlook, rate)
    if seen.remaining is not None:
        assert seen.soonest <= seen.remaining
        assert seen.latest is None or seen.remaining <= seen.latest
    assert (seen.remaining is None) == (seen.soonest is None)
    assert str(seen)


def test_a_remainder_without_partitions_is_done():
    assert Progress(Outlook(), None).remaining == timedelta(0)


@pytest.mark.parametrize(
    ("outlook", "rate", "words"),
    [
        (Outlook(completed=3), None, "; done"),
        (Outlook(completed=3, parked=2), Rate(1.0, 0.5, 2.0), "; only a person can move the 2 parked"),
        (Outlook(claimable=1), None, "; the rate is known at the next look"),
        (Outlook(claimable=1), Rate(0.0, 0.0, 1.0), "; nothing was completed in the time looked at"),
        (Outlook(claimable=3), Rate(2.0, 1.0, 3.0), "; 2.0 a minute, about 0:01:30 left (0:01:00 to 0:03:00)"),
        (Outlook(claimable=3), Rate(2.0, 0.0, 3.0), "; 2.0 a minute, about 0:01:30 left (0:01:00 or more)"),
    ],
)
def test_in_words(outlook, rate, words):
    assert str(Progress(outlook, rate)).endswith(words)
