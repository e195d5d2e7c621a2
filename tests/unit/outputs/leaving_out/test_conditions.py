"""``where=`` is looked at before anything is read, and compares by the order of Spark."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from airflow_coordination.leases import InvalidInputError
from airflow_coordination.outputs.leaving_out.conditions import Condition
from airflow_coordination.outputs.leaving_out.extremes import Extremes

UTC = dt.UTC


def condition(where: Any) -> Condition:
    found = Condition.of(where)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("pair", "left_out"),
    [
        ((0, 9), True),
        ((0, 10), False),
        ((20, 30), False),
        ((21, None), True),
        ((20, None), False),
        ((None, 9), True),
        ((None, 10), False),
        ((15, 15), False),
        ((21, 21), True),
    ],
)
def test_a_file_is_left_out_when_its_values_are_all_outside(pair: Any, left_out: bool) -> None:
    assert condition({"c": pair}).excludes({"c": Extremes("whole", 10, 20)}) is left_out


@pytest.mark.parametrize("found", [{}, {"C": Extremes("whole", 1, 1)}, {"c": Extremes("text", "1", "1")}])
def test_what_is_not_known_of_the_column_is_read(found: Any) -> None:
    assert not condition({"c": (5, 6)}).excludes(found)


def test_one_column_that_cannot_match_is_enough() -> None:
    found = {"a": Extremes("whole", 1, 2), "b": Extremes("whole", 1, 2)}
    assert condition({"a": (1, 1), "b": (3, 3)}).excludes(found)
    assert not condition({"a": (1, 1), "b": (2, 3)}).excludes(found)


def test_texts_compare_by_their_bytes() -> None:
    """As Spark does: beyond the basic plane the order of UTF-16 is another one."""
    assert condition({"c": ("\U0001f600", None)}).excludes({"c": Extremes("text", "a", "\uffff")})
    assert not condition({"c": ("\uffff", None)}).excludes({"c": Extremes("text", "a", "\U0001f600")})
    assert condition({"c": ("a", "z")}).excludes({"c": Extremes("text", "A", "Z")})


def test_days_and_instants_are_numbers_since_1970() -> None:
    days = {"c": Extremes("day", 20484, 20484)}
    assert not condition({"c": (dt.date(2026, 1, 31), dt.date(2026, 1, 31))}).excludes(days)
    assert condition({"c": (dt.date(2026, 2, 1), None)}).excludes(days)
    zone = dt.timezone(dt.timedelta(hours=9))
    moment = {"c": Extremes("instant", 1_000_000, 1_000_000)}
    one = dt.datetime(1970, 1, 1, 9, 0, 1, tzinfo=zone)
    assert not condition({"c": (one, one)}).excludes(moment)
    assert condition({"c": (one + dt.timedelta(microseconds=1), None)}).excludes(moment)
    assert condition({"c": (None, one - dt.timedelta(microseconds=1))}).excludes(moment)


def test_without_it_everything_is_asked_for() -> None:
    assert Condition.of(None) is None


@pytest.mark.parametrize(
    ("where", "field", "problem"),
    [
        ({}, "where", "is no mapping"),
        ("id = 1", "where", "is no mapping"),
        ([("id", (1, 2))], "where", "is no mapping"),
        ({1: (1, 2)}, "where", "is no name of a column"),
        ({"": (1, 2)}, "where", "is no name of a column"),
        ({"id": 1}, "where['id']", "is no pair"),
        ({"id": (1,)}, "where['id']", "is no pair"),
        ({"id": (1, 2, 3)}, "where['id']", "is no pair"),
        ({"id": "12"}, "where['id']", "is no pair"),
        ({"id": (None, None)}, "where['id']", "is no pair"),
        ({"id": (1, "2")}, "where['id']", "has values of two types"),
        ({"id": (dt.date(2026, 1, 1), dt.datetime(2026, 1, 2, tzinfo=UTC))}, "where['id']", "has values of two types"),
        ({"id": (2, 1)}, "where['id']", "has its greatest value first"),
        ({"id": (True, True)}, "where['id']", "is bool"),
        ({"id": (1.5, None)}, "where['id']", "is float"),
        ({"id": (Decimal(1), None)}, "where['id']", "is Decimal"),
        ({"id": (2**63, None)}, "where['id']", "is int"),
        ({"id": (b"a", None)}, "where['id']", "is bytes"),
        ({"id": ("\ud800", None)}, "where['id']", "is no UTF-8"),
        ({"id": (dt.datetime(2026, 1, 1), None)}, "where['id']", "has no time zone"),  # noqa: DTZ001
    ],
)
def test_bad_input_names_field_value_and_remedy(where: Any, field: str, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem) as error:
        Condition.of(where)
    assert error.value.field == field
    assert error.value.remedy
