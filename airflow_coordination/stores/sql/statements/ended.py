"""Sums of what ended in each five minutes: a row is written where nobody else has counted on."""

from __future__ import annotations

from typing import Final

from airflow_coordination.protocol.fields import ENDED_FIELDS
from airflow_coordination.stores.sql.columns import ENDED, ENDED_SUMS, HISTORY
from airflow_coordination.stores.sql.statements.dialect import Dialect

_COLUMNS: Final = tuple(field.column for field in ENDED_FIELDS)
_START, *_OTHERS = _COLUMNS


def between(_: Dialect) -> str:
    """Return the statement that lists endings of the history, the oldest first: a range of its index by time."""
    return f"""SELECT ended_at, outcome, row_count, byte_count FROM {HISTORY}
        WHERE source_identifier = :source AND ended_at >= :since AND ended_at < :until
        ORDER BY ended_at LIMIT :limit"""


def newest(_: Dialect) -> str:
    """Return the statement that lists the newest rows: a range of the primary key."""
    return f"""SELECT {ENDED_SUMS} FROM {ENDED} WHERE source_identifier = :source
        ORDER BY {_START} DESC LIMIT :limit"""


def put(_: Dialect) -> str:
    """Return the statement that writes a row: a new one, or over the one that is counted up to ``:seen``."""
    given = ", ".join(f":{column}" for column in _COLUMNS)
    replaced = ", ".join(f"{column} = excluded.{column}" for column in _OTHERS)
    return f"""INSERT INTO {ENDED} (source_identifier, {", ".join(_COLUMNS)}) VALUES (:source, {given})
        ON CONFLICT (source_identifier, {_START}) DO UPDATE SET {replaced}
        WHERE {ENDED}.counted_to = CAST(:seen AS BIGINT) RETURNING 1"""


def forget(_: Dialect) -> str:
    """Return the statement that removes the rows that begin before a time."""
    return f"DELETE FROM {ENDED} WHERE source_identifier = :source AND {_START} < :before"
