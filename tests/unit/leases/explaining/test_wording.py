"""Durations, owners and errors in plain words."""

from datetime import timedelta

import pytest

from airflow_coordination.leases import Owner, Place
from airflow_coordination.leases.explaining.wording import holder, span
from airflow_coordination.values.errors import ERROR_LENGTH, first_line


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.9, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (3_599, "59 min 59 s"),
        (3_605, "1 h"),
        (3_660, "1 h 1 min"),
        (90_000, "1 d 1 h"),
        (86_400 * 400, "400 d"),
        (-61, "1 min 1 s"),
    ],
)
def test_a_duration_is_said_in_its_two_largest_units(seconds, said):
    assert span(timedelta(seconds=seconds)) == said


def test_an_error_is_one_short_line():
    assert first_line("\n a\x1b\nb", "none") == r"a\x1b"
    assert first_line(" \n", "none") == first_line(None, "none") == "none"
    assert first_line("x" * 1_000, "none") == "x" * ERROR_LENGTH + "…"


def test_parts_of_an_owner_are_decoded():
    owner = Owner.of_task("host", "a/b", "run 1", "tâche", -1, 12).text
    assert holder(owner) == r"task 't\xe2che', try 12, of run 'run 1' of DAG 'a/b' on host 'host'"
    named = Owner.of_task("host", "d", "r", "t", -1, 1, Place("production")).text
    assert holder(named) == "task 't', try 1, of run 'r' of DAG 'd' on host 'host' of Airflow 'production'"
    assert Owner("a/b/c").instance is None
    assert holder("a/b/c") == "'a/b/c'"
    assert holder(None) == "an owner without a name"
