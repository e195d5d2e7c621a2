"""Sums of the chunks of datasets: one statement for many rows, and none of them decides anything."""

from __future__ import annotations

from typing import Final

from airflow_coordination.protocol.beside.chunk_sums import SUMMED
from airflow_coordination.protocol.fields import CHUNK_FIELDS, Kind
from airflow_coordination.stores.sql.columns import CHUNK, CHUNKS
from airflow_coordination.stores.sql.statements.dialect import Dialect

_GIVEN: Final = CHUNK_FIELDS[:-1]
_UPDATED_AT: Final = CHUNK_FIELDS[-1].column
_COLUMN: Final = {field.name: field.column for field in CHUNK_FIELDS}
_TYPES: Final = {Kind.TEXT: "TEXT", Kind.NUMBER: "BIGINT", Kind.TIME: "BIGINT"}
_KEY: Final = ("source_identifier", "dataset", "place")


def put(dialect: Dialect) -> str:
    """Return the statement that writes a list of rows over those that are there; see :func:`row_of`."""
    columns = [field.column for field in _GIVEN]
    if dialect.locks:
        typed = ", ".join(["place TEXT", *(f"{field.column} {_TYPES[field.kind]}" for field in _GIVEN)])
        values = ", ".join(columns)
        given = f"jsonb_to_recordset(CAST(:rows AS jsonb)) AS given ({typed})"
    else:
        values = ", ".join(f"json_extract(value, '$.{column}')" for column in columns)
        given = "json_each(:rows) WHERE true"  # without it, SQLite would take ON CONFLICT for a join's
    place = "place" if dialect.locks else "json_extract(value, '$.place')"
    replaced = ", ".join(f"{each} = excluded.{each}" for each in [*columns, _UPDATED_AT] if each not in _KEY)
    return f"""INSERT INTO {CHUNKS} (source_identifier, place, {", ".join(columns)}, {_UPDATED_AT})
        SELECT :source, {place}, {values}, {dialect.now} FROM {given}
        ON CONFLICT ({", ".join(_KEY)}) DO UPDATE SET {replaced}"""


def page(_: Dialect, *, one_dataset: bool, after: bool) -> str:
    """Return the statement that lists rows by dataset, then the newest chunk first: a range of the primary key."""
    dataset = "AND dataset = :dataset" if one_dataset else ""
    behind = "AND (dataset, place) > (:after_dataset, :after_place)" if after else ""
    return f"""SELECT {CHUNK} FROM {CHUNKS} WHERE source_identifier = :source {dataset} {behind}
        ORDER BY dataset, place LIMIT :limit"""


def totals(dialect: Dialect, *, one_dataset: bool) -> str:
    """Return the statement that adds up by dataset and state; an engine's sums of nothing are no numbers."""
    sums = ", ".join(f"CAST(coalesce(sum({_COLUMN[name]}), 0) AS {_whole(dialect)})" for name in SUMMED)
    dataset = "AND dataset = :dataset" if one_dataset else ""
    times = "min(chunk_start), max(chunk_end), max(merged_at), max(updated_at)"
    return f"""SELECT dataset, state, count(*), {sums}, {times} FROM {CHUNKS} WHERE source_identifier = :source
        {dataset} GROUP BY dataset, state ORDER BY dataset, state"""


def _whole(dialect: Dialect) -> str:
    return "NUMERIC" if dialect.locks else "INTEGER"


def forget(_: Dialect) -> str:
    """Return the statement that removes all rows of a dataset."""
    return f"DELETE FROM {CHUNKS} WHERE source_identifier = :source AND dataset = :dataset"
