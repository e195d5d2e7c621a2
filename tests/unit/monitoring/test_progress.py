"""How far, how fast, until when."""

from datetime import timedelta

import pytest

from airflow_coordination.leases.results import Outlook
from airflow_coordination.monitoring.progress import WINDOW, Pace, Progress

MINUTE = 60.0


def test_the_rate_is_that_of_the_window():
    pace = Pace()
    assert pace.progress(Outlook(completed=4), 100.0).per_minute is None
    assert pace.progress(Outlook(completed=6), 100.0 + MINUTE).per_minute == pytest.approx(2)
    assert pace.progress(Outlook(completed=12), 100.0 + 2 * MINUTE).per_minute == pytest.approx(4)
    # The first look is older than the window now, the second is not.
    at = 101.0 + WINDOW.total_seconds()
    assert pace.progress(Outlook(completed=30), at).per_minute == pytest.approx(24 * 60 / (at - 160))


def test_the_rest_at_this_rate():
    seen = Progress(Outlook(claimable=3, assigned=2, waiting=1, parked=4, completed=10), 2.0)
    assert (seen.left, seen.total, seen.remaining) == (6, 20, timedelta(minutes=3))


@pytest.mark.parametrize("rate", [None, 0.0, -1.0])
def test_no_time_is_made_up_where_nothing_moves(rate):
    assert Progress(Outlook(claimable=1), rate).remaining is None


def test_a_remainder_without_partitions_is_done():
    assert Progress(Outlook(), None).remaining == timedelta(0)


@pytest.mark.parametrize(
    ("outlook", "rate", "words"),
    [
        (Outlook(completed=3), None, "; done"),
        (Outlook(completed=3, parked=2), 1.0, "; only a person can move the 2 parked"),
        (Outlook(claimable=1), None, "; the rate is known at the next look"),
        (Outlook(claimable=1), 0.0, "; nothing was completed since this began"),
        (Outlook(claimable=3), 2.0, "; 2.0 a minute, about 0:01:30 left"),
    ],
)
def test_in_words(outlook, rate, words):
    assert str(Progress(outlook, rate)).endswith(words)
