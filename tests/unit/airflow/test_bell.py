"""When waiting work is worth an event: an edge for what is new, a level for what is left alone."""

import pytest

from airflow_coordination.triggers.claimable import Bell

REMIND_AFTER = 600.0


@pytest.fixture
def bell():
    return Bell(REMIND_AFTER, most_hints=4)


def test_it_is_silent_without_work(bell):
    assert not bell.rings([], at_work=False, now=0)
    assert not bell.rings([], at_work=True, now=9999)


def test_it_rings_once_for_work_that_nobody_has_taken_yet(bell):
    assert [bell.rings(["a", "b"], at_work=False, now=now) for now in range(4)] == [True, False, False, False]


def test_it_rings_for_new_work_also_while_other_work_goes_on(bell):
    assert bell.rings(["a"], at_work=False, now=0)
    assert bell.rings(["a", "b"], at_work=True, now=1)
    assert not bell.rings(["a", "b"], at_work=True, now=2)


def test_it_is_silent_while_a_run_works_through_what_it_told_of(bell):
    assert bell.rings(["a", "b", "c"], at_work=False, now=0)
    assert [bell.rings(left, at_work=True, now=1) for left in (["b", "c"], ["c"], [])] == [False, False, False]


def test_it_rings_for_what_a_run_has_left(bell):
    """The run took two of three and ended; between two looks, it may have started and ended."""
    assert bell.rings(["a", "b", "c"], at_work=False, now=0)
    assert not bell.rings(["c"], at_work=True, now=1)
    assert bell.rings(["c"], at_work=False, now=2)
    assert not bell.rings(["c"], at_work=False, now=3)


def test_it_rings_again_for_work_that_nobody_takes(bell):
    """The run it started died before it took anything; it is not started again and again."""
    assert bell.rings(["a"], at_work=False, now=0)
    assert not bell.rings(["a"], at_work=False, now=REMIND_AFTER - 1)
    assert bell.rings(["a"], at_work=False, now=REMIND_AFTER)
    assert not bell.rings(["a"], at_work=False, now=REMIND_AFTER + 1)


def test_it_rings_when_the_same_work_comes_back(bell):
    """A partition that was parked and reopened between two runs has the same token as before."""
    assert bell.rings(["a"], at_work=False, now=0)
    assert not bell.rings([], at_work=False, now=1)
    assert bell.rings(["a"], at_work=False, now=2)


def test_a_failure_makes_new_work(bell):
    assert bell.rings(["a at 0"], at_work=False, now=0)
    assert not bell.rings([], at_work=True, now=1)
    assert bell.rings(["a at 1"], at_work=False, now=2)


def test_what_moves_up_in_a_full_list_is_no_news(bell):
    assert bell.rings(["a", "b", "c", "d"], at_work=False, now=0)
    assert not bell.rings(["b", "c", "d", "e"], at_work=True, now=1)
    assert not bell.rings(["d", "e", "f", "g"], at_work=True, now=2)
    assert bell.rings(["d", "e", "f", "g"], at_work=False, now=3)
