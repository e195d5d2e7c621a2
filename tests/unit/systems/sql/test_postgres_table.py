"""Which key columns of a table make one row of two records."""

from __future__ import annotations

import pytest

from airflow_coordination.sinks import OpenSearchSink, PostgresSink
from airflow_coordination.systems.sql.postgres_sink import is_coarser
from airflow_coordination.values.input_errors import InvalidInputError


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("timestamp", "timestamp(0) with time zone"),
        ("timestamp", "timestamp without time zone"),
        ("timestamp", "date"),
        ("timestamp_ntz", "timestamp with time zone"),
        ("double", "numeric(6,1)"),
        ("double", "numeric"),
        ("double", "real"),
        ("double", "bigint"),
        ("decimal(10,2)", "numeric(10,1)"),
        ("decimal(10,2)", "numeric(10)"),
        ("decimal(10,2)", "bigint"),
        ("decimal(10,2)", "double precision"),
        ("bigint", "double precision"),
        ("string", "character(5)"),
        ("string", "citext"),
        ("string", "name"),
        ("string", "bigint"),
        ("string", "timestamp with time zone"),
    ],
)
def test_d5_key_columns_that_make_one_row_of_two_records(kind, column):
    assert is_coarser(kind, column)


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("timestamp", "timestamp with time zone"),
        ("timestamp", "timestamp(6) with time zone"),
        ("timestamp_ntz", "timestamp without time zone"),
        ("double", "double precision"),
        ("float", "real"),
        ("float", "double precision"),
        ("decimal(10,2)", "numeric"),
        ("decimal(10,2)", "numeric(12,3)"),
        ("decimal(10,0)", "bigint"),
        ("bigint", "bigint"),
        ("bigint", "integer"),
        ("bigint", "numeric"),
        ("bigint", "text"),
        ("string", "text"),
        ("string", "character varying(20)"),
        ("string", "uuid"),
        ("date", "date"),
        ("binary", "bytea"),
        ("boolean", "boolean"),
    ],
)
def test_d5_key_columns_that_keep_all_keys_apart(kind, column):
    assert not is_coarser(kind, column)


def test_d5_a_collation_may_make_equal_what_is_not():
    assert is_coarser("string", "text", exact_collation=False)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"columns": "abc"}, "columns='abc': is no list of one or more different names of columns"),
        ({"table": "a.b.c.d"}, "table='a.b.c.d': is no name of a table"),
        ({"fence_columns": ("a",)}, r"fence_columns=\('a',\): are not the names of two different columns"),
        ({"fence_columns": ("a", "a")}, "are not the names of two different columns"),
    ],
)
def test_bad_arguments_of_a_table(arguments, problem):
    with pytest.raises(InvalidInputError, match=problem):
        PostgresSink(**{"url": "postgresql://x@h/d", "table": "t"} | arguments)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"index": None}, "index=None: is no name of one index"),
        ({"fence_fields": ("a",)}, r"fence_fields=\('a',\): are not the names of two different columns"),
        ({"columns": []}, r"columns=\[\]: is no list of one or more"),
    ],
)
def test_bad_arguments_of_an_index(arguments, problem):
    with pytest.raises(InvalidInputError, match=problem):
        OpenSearchSink(**{"url": "http://h", "index": "i"} | arguments)
