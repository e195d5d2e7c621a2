"""How fast, and how sure."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.monitoring.progress import BATCHES, rate_of

HOUR = timedelta(hours=1)
STEPS = st.lists(st.tuples(st.timedeltas(timedelta(0), HOUR), st.integers(0, 1000)))


def test_what_is_even_is_sure():
    even = [(HOUR * place / 120, 1) for place in range(120)]
    found = rate_of(even, HOUR)
    assert (found.per_minute, found.least, found.most) == pytest.approx((2, 119 / 60, 121 / 60))


def test_what_comes_at_once_is_unsure():
    found = rate_of([(HOUR / 2, 120)], HOUR)
    assert (found.per_minute, found.least) == (2, 0)
    assert found.most == pytest.approx(2 + 2.201 * 120 / 60)


@pytest.mark.parametrize("lasted", [timedelta(0), -HOUR])
def test_a_stretch_without_length_has_no_rate(lasted):
    assert rate_of([(timedelta(0), 1)], lasted) is None


@given(STEPS)
def test_the_rate_is_the_sum_and_lies_within_its_spread(happened):
    found = rate_of(happened, HOUR)
    assert found.per_minute == pytest.approx(sum(number for _, number in happened) / 60)
    assert 0 <= found.least <= found.per_minute < found.most


@given(STEPS)
def test_only_how_much_happened_when_counts(happened):
    """A stretch that is told backwards is as sure."""
    turned = [(HOUR - after, number) for after, number in happened if after % (HOUR / BATCHES)]
    kept = [each for each in happened if each[0] % (HOUR / BATCHES)]
    assert rate_of(turned, HOUR) == rate_of(kept, HOUR)
