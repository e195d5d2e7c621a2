"""The pause of a source: read, and set by a person. That it holds acquisitions back is said in :mod:`.step`."""

from __future__ import annotations

from airflow_coordination.stores.sql.columns import PAUSE, SOURCES
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.step import StepText


def pause() -> str:
    """Return the statement that reads a source's pause."""
    return f"SELECT {PAUSE} FROM {SOURCES} WHERE source_identifier = :source"


def set_pause(dialect: Dialect) -> StepText:
    """Return the statement that pauses or resumes a source, if nobody has since ``seen_op``."""
    text = f"""INSERT INTO {SOURCES} (source_identifier, facts, updated_at, {PAUSE})
        VALUES (:source, '{{}}', {dialect.now}, CAST(:paused AS SMALLINT), :by, :why, {dialect.now}, :op)
        ON CONFLICT (source_identifier) DO UPDATE SET {_taken(PAUSE)}
        WHERE coalesce({SOURCES}.pause_op, '') = :seen_op RETURNING {PAUSE}"""
    return StepText(text, "", dict)


def _taken(columns: str) -> str:
    return ", ".join(f"{column} = excluded.{column}" for column in columns.split(", "))
