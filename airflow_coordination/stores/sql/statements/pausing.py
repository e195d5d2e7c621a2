"""The pause of a source, and what fails in it. That a pause holds acquisitions back is said in :mod:`.step`."""

from __future__ import annotations

from typing import Final

from airflow_coordination.stores.sql.columns import FAILS, PAUSE, PAUSE_AND_FAILURES, SOURCES
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.step import StepText
from airflow_coordination.values.failing import MARK_LENGTH, MOST_COUNTED

_AFTER_THE_STEP: Final = "AND EXISTS (SELECT 1 FROM done)"
"""Which also locks the partition before the source, always, so that no two of them wait for each other."""


def pause() -> str:
    """Return the statement that reads a source's pause."""
    return f"SELECT {PAUSE_AND_FAILURES} FROM {SOURCES} WHERE source_identifier = :source"


def set_pause(dialect: Dialect) -> StepText:
    """Return the statement that pauses or resumes a source, if nobody has since ``seen_op``."""
    text = f"""INSERT INTO {SOURCES} (source_identifier, facts, updated_at, {PAUSE})
        VALUES (:source, '{{}}', {dialect.now}, CAST(:paused AS SMALLINT), :by, :why, {dialect.now}, :op)
        ON CONFLICT (source_identifier) DO UPDATE SET {_taken(PAUSE)}
        WHERE coalesce({SOURCES}.pause_op, '') = :seen_op RETURNING {PAUSE_AND_FAILURES}"""
    return StepText(text, "", dict)


def count_failure(dialect: Dialect, *, inside: bool) -> str:
    """Return the statement that counts a partition more of one error; another error begins anew.

    Who waits for the row's lock judges by what he then finds there, so that no failure is lost beside others.
    """
    known = "failing_error = :failing_error AND failing_since_op = coalesce(pause_op, '')"
    more = f"""CASE WHEN length(failing_marks) < {MARK_LENGTH * MOST_COUNTED}
        THEN replace(failing_marks, :failing_mark, '') || :failing_mark ELSE failing_marks END"""
    return f"""UPDATE {SOURCES} SET failing_marks = CASE WHEN {known} THEN {more} ELSE :failing_mark END,
        failing_error = :failing_error, failing_since_op = coalesce(pause_op, '')
        WHERE source_identifier = :source {_AFTER_THE_STEP if inside else ""}"""


def forget_failures(dialect: Dialect, *, inside: bool) -> str:
    """Return the statement of a success: it finds nothing in the index of the failing, unless something has failed."""
    return f"""UPDATE {SOURCES} SET failing_error = NULL, failing_marks = NULL, failing_since_op = NULL
        WHERE source_identifier = :source AND {FAILS} {_AFTER_THE_STEP if inside else ""}"""


def _taken(columns: str) -> str:
    return ", ".join(f"{column} = excluded.{column}" for column in columns.split(", "))
