"""The types of columns that sinks take: those that have a value in Python and a form in JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from airflow_coordination.systems.sql.postgres_sink import PostgresSink
from airflow_coordination.values.input_errors import InvalidInputError

TAKEN: Final = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "void"),
    *("string", "char", "varchar", "binary", "date", "timestamp", "timestamp_ntz"),
    *("array", "map", "struct"),
)
"""By Spark's names. Blocks take every type that their format does, and sinks other than tables a column of variants."""
_REMEDY: Final = "Convert it before, such as to_json({0}) or cast({0} as string), or leave it out: columns=(…)"


def check_types(schema: Any, sinks: Mapping[str, Any]) -> None:
    """Refuse columns that sinks other than blocks do not take, before a record is read.

    :param schema: of the records, Spark's.
    :param sinks: by name, without blocks.
    :raises InvalidInputError: naming the sink, the column, its type and what to do.
    """
    for name, sink in sinks.items():
        given = getattr(sink, "columns", None)
        chosen = given if isinstance(given, tuple) else None  # a sink from elsewhere may mean something else by it
        for column in schema:
            if chosen is not None and column.name not in chosen:
                continue
            if is_variant(column.dataType) and not isinstance(sink, PostgresSink):
                continue
            wrong = next((each for each in _names_in(column.dataType) if each not in TAKEN), None)
            if wrong is not None:
                problem = f"has the type {wrong}, which sink {name!r} does not take; it takes {', '.join(TAKEN)}"
                raise InvalidInputError("records", column.name, problem, _REMEDY.format(column.name))


def check_key_type(column: Any) -> None:
    """Refuse a key that has parts: two that look alike could be told apart, or not, as each sink sees fit.

    :raises InvalidInputError: naming the column and its type.
    """
    kind = next(iter(_names_in(column.dataType)))
    if kind not in TAKEN or kind in ("array", "map", "struct", "void"):
        remedy = "Give a column of text, a number, a date or a time"
        raise InvalidInputError("key", column.name, f"is of the type {kind}, which is no key", remedy)


def is_variant(kind: Any) -> bool:
    """Whether a column holds variants; it goes to sinks by way of its text, and is the value in it there."""
    return bool(kind.simpleString() == "variant")


def readable(frame: Any) -> Any:
    """Return a DataFrame with the text of its variants in their places."""
    from pyspark.sql import functions as fn

    columns = ((field, fn.col(quoted(field.name))) for field in frame.schema)
    return frame.select(
        *(fn.to_json(each).alias(field.name) if is_variant(field.dataType) else each for field, each in columns)
    )


def quoted(name: str) -> str:
    """Return the name of a column as SQL has it."""
    return f"`{name.replace('`', '``')}`"


def _names_in(kind: Any) -> Iterable[str]:
    """Yield the names of a type and of those in it."""
    yield kind.simpleString().split("(")[0].split("<")[0].split(" ")[0]
    for part in ("elementType", "keyType", "valueType"):
        if hasattr(kind, part):
            yield from _names_in(getattr(kind, part))
    for field in getattr(kind, "fields", ()):
        yield from _names_in(field.dataType)
