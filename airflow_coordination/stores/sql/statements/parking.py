"""What follows a parking: a parked partition is the note itself, until that is done."""

from __future__ import annotations

from typing import Final

from airflow_coordination.protocol.rules import FOLLOWED
from airflow_coordination.stores.sql.columns import PARTITIONS
from airflow_coordination.stores.sql.indexes import PARKED
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.step import StepText, step
from airflow_coordination.stores.sql.statements.symbols import NOTE
from airflow_coordination.stores.sql.statements.words import SqlWords

_OF_THIS_LIFE: Final = "substr(on_parked, 1, length(generation) + 1) = generation || ' '"
"""What was said in another generation, as older code may have left it, does not follow."""

NOTES: Final = f"""SELECT source_identifier, source_partition_key, token, last_op AS op,
    substr(on_parked, length(generation) + 2) AS follow_up, updated_at AS noted_at FROM {PARTITIONS}
    WHERE {PARKED} AND on_parked IS NOT NULL AND {_OF_THIS_LIFE}"""
"""Selects the notes that are parked partitions, in the columns of those that lie beside endings."""


def followed(dialect: Dialect) -> StepText:
    """Return the statement that takes what was to follow out of a parked partition."""
    found = "source_identifier = :source AND source_partition_key = :key AND on_parked IS NOT NULL"
    return step(SqlWords(dialect), FOLLOWED, NOTE, found=found, returning="1")
