"""What the hashes of keys tell: whether somebody has to look at the keys themselves."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_coordination.delivery.keys import _OF_NULL, _are_apart


@pytest.mark.parametrize(
    ("chunks", "apart"),
    [
        ([[]], True),
        ([[1, 2], [3]], True),
        ([[1, None], [None, None, 2]], True),
        ([[1, 2], [3, 1]], False),
        ([[1, _OF_NULL]], False),
        ([[None, None]], True),
    ],
    ids=["none", "apart", "some are not owed", "two in two tasks", "null", "none is owed"],
)
def test_w5_hashes_are_apart_where_no_two_are_equal_and_none_is_that_of_null(chunks, apart):
    assert _are_apart(pa.chunked_array(chunks, pa.int64())) is apart
