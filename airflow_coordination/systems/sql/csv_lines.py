"""Columns of Arrow as lines of CSV that PostgreSQL's COPY reads as it does the same values of Python.

Arrow writes them without an object of Python for each value. Texts stand in quotes, so that an empty one is told from
null, which is nothing at all. What Arrow writes in another form than psycopg does is left to psycopg: bytes, arrays,
structures, intervals.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

_FIRST: Final = datetime.min.replace(tzinfo=UTC) + timedelta(days=1)
_LAST: Final = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)
"""Beyond them, somewhere in the world, there is no such time in Python: its record is refused."""


def can_be_lines(schema: Any, columns: list[str]) -> bool:
    """Whether all values of these columns have a form in CSV that is psycopg's own.

    :param schema: of Arrow.
    """
    import pyarrow.types as of

    forms = (
        *(of.is_boolean, of.is_integer, of.is_floating, of.is_decimal, of.is_string, of.is_large_string, of.is_null),
        *(of.is_date, of.is_timestamp),
    )
    kinds = (schema.field(name).type for name in columns if name in schema.names)
    return all(name in schema.names for name in columns) and all(any(each(kind) for each in forms) for kind in kinds)


def csv_lines(batch: Any, columns: list[str]) -> Any | None:
    """Return a batch as lines; ``None`` where a value has no place in Python, which one record is refused for.

    :param batch: of Arrow.
    :param columns: what is written of it, in this order.
    """
    import pyarrow as pa
    from pyarrow import csv

    found = [_column(batch.column(name)) for name in columns]
    if any(each is None for each in found):
        return None
    lines = pa.BufferOutputStream()
    options = csv.WriteOptions(include_header=False, batch_size=max(1, batch.num_rows), quoting_style="needed")
    csv.write_csv(pa.RecordBatch.from_arrays(found, names=columns), lines, options)
    return lines.getvalue()


def _column(values: Any) -> Any | None:
    """Return values as they are written; ``None`` for times that Python does not have."""
    import pyarrow as pa
    import pyarrow.types as of

    kind = values.type
    if of.is_floating(kind):
        return values.cast(pa.float64())  # as Python has them: a short float has more digits then
    if of.is_null(kind):
        return values.cast(pa.string())
    if of.is_date(kind):
        return values if _are_times(values.cast(pa.date32()).cast(pa.timestamp("s"))) else None
    if of.is_timestamp(kind):
        moments = values if kind.tz is None else values.cast(pa.timestamp(kind.unit, "UTC"))
        return moments if _are_times(values.cast(pa.timestamp(kind.unit))) else None
    return values


def _are_times(values: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    ends = pc.min_max(values.cast(pa.int64()))
    first, last = ends["min"].as_py(), ends["max"].as_py()
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[values.type.unit]
    return first is None or (
        first >= int(_FIRST.timestamp()) * per_second and last <= int(_LAST.timestamp()) * per_second
    )
