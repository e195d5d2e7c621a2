"""Which types of columns sinks take, without a session."""

from __future__ import annotations

import pytest
from pyspark.sql import types as t

from airflow_coordination.delivery.column_types import check_types
from airflow_coordination.leases import InvalidInputError
from airflow_coordination.sinks import FileSink, PostgresSink

FILES = FileSink("/tmp/x")
TABLE = PostgresSink("postgresql://x@h/d", table="t")


class Foreign:
    """A sink from elsewhere, which means something else by this name."""

    def columns(self) -> None:
        """Nothing here."""


def schema(kind: t.DataType) -> t.StructType:
    return t.StructType([t.StructField("id", t.LongType()), t.StructField("odd", kind)])


@pytest.mark.parametrize(
    "kind",
    [
        t.MapType(t.StringType(), t.ArrayType(t.DecimalType(10, 2))),
        t.StructType([t.StructField("interval", t.TimestampNTZType())]),
        t.VarcharType(3),
        t.NullType(),
    ],
)
@pytest.mark.parametrize("sink", [FILES, TABLE, Foreign()])
def test_d7_types_that_are_taken(kind, sink):
    check_types(schema(kind), {"s": sink})


def test_d7_a_column_of_variants_is_taken_but_by_tables():
    check_types(schema(t.VariantType()), {"s": FILES})
    with pytest.raises(InvalidInputError, match=r"records='odd': has the type variant, which sink 's' does not take"):
        check_types(schema(t.VariantType()), {"s": TABLE})


@pytest.mark.parametrize(
    "kind",
    [t.YearMonthIntervalType(), t.ArrayType(t.DayTimeIntervalType()), t.MapType(t.StringType(), t.VariantType())],
)
def test_d7_types_that_are_not_taken_are_refused_unless_their_column_is_left_out(kind):
    with pytest.raises(InvalidInputError, match=r"it takes boolean, .* or leave it out: columns="):
        check_types(schema(kind), {"s": FILES})
    check_types(schema(kind), {"s": FileSink("/tmp/x", columns=("id",))})
