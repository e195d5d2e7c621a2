"""Shards and ranges that cannot be are refused by name."""

from __future__ import annotations

import pytest

from airflow_coordination.streams import MAX_HASH_KEY, HashRange, Shard
from airflow_coordination.values.input_errors import InvalidInputError


@pytest.mark.parametrize(
    ("shard", "message"),
    [
        (("",), "id='': is empty"),
        (("a", ("a",)), "parents=.*names shard a itself"),
        (("a", ("b", "b")), "parents=.*or a shard twice"),
        (("a", (), 5, 4), "end=4: is before start=5 of shard a"),
    ],
)
def test_no_shard(shard, message):
    with pytest.raises(InvalidInputError, match=message):
        Shard(*shard)


@pytest.mark.parametrize(("first", "last"), [(1, 0), (-1, 5), (0, MAX_HASH_KEY + 1)])
def test_no_range(first, last):
    with pytest.raises(InvalidInputError, match=f"hashes='{first}…?.*is no range inside of 0"):
        HashRange(first, last)
