"""Sizes as people write them."""

from __future__ import annotations

import pytest

from airflow_coordination.planning.sizes import parse_size
from airflow_coordination.values.input_errors import InvalidInputError


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, 1),
        ("7", 7),
        ("7B", 7),
        ("2kB", 2_000),
        ("2KiB", 2_048),
        ("256MiB", 2**28),
        ("100 GB", 10**11),
        ("1TiB", 2**40),
    ],
)
def test_a_size_is_so_many_bytes(value, number):
    assert parse_size("size", value) == number


@pytest.mark.parametrize("value", [0, -1, True, 1.5, None, "0MiB", "", "-1", "1.5GB", "MiB", "1 EB", "9" * 16])
def test_what_is_no_size_is_refused(value):
    with pytest.raises(InvalidInputError, match=r"size=.*(is no size|is no whole number above zero).* such as 256MiB"):
        parse_size("size", value)
