"""The service's time, from the dates of its answers (promise S8)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from airflow_coordination.stores.dynamodb.requests import MARGIN, ServiceClock
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.errors import StoreUnavailableError


@pytest.fixture
def local() -> FakeClock:
    return FakeClock()


@pytest.fixture
def clock(local: FakeClock) -> ServiceClock:
    return ServiceClock(local=local)


def at(seconds: int) -> datetime:
    return datetime(2026, 11, 21, 20, 0, tzinfo=UTC) + timedelta(seconds=seconds)


def date(seconds: int) -> str:
    return f"{at(seconds):%a, %d %b %Y %H:%M:%S} GMT"


def test_it_is_not_known_before_the_first_answer(clock: ServiceClock) -> None:
    assert not clock.is_set
    with pytest.raises(StoreUnavailableError, match="no answer has said it yet"):
        clock.now()


def test_it_goes_on_between_answers(clock: ServiceClock, local: FakeClock) -> None:
    clock.hear(date(0))
    local.advance(timedelta(seconds=7))
    assert clock.now() == at(7)
    assert clock.surely_past() == at(7) - MARGIN


def test_an_answer_that_was_long_on_its_way_does_not_turn_it_back(clock: ServiceClock, local: FakeClock) -> None:
    clock.hear(date(14))
    clock.hear(date(10))
    assert clock.now() == at(14)
    local.advance(timedelta(seconds=2))
    clock.hear(date(20))
    assert clock.now() == at(20)


def test_a_clock_of_this_host_that_runs_fast_is_not_believed_for_ever(clock: ServiceClock, local: FakeClock) -> None:
    clock.hear(date(0))
    local.advance(timedelta(seconds=61))
    clock.hear(date(55))
    assert clock.now() == at(55)


def test_what_is_no_date_says_nothing(clock: ServiceClock) -> None:
    clock.hear(date(3))
    for text in (None, "", "yesterday"):
        clock.hear(text)
    assert clock.now() == at(3)
