"""Placing: a partition that was just created gets the life that it had in another store."""

from __future__ import annotations

from airflow_coordination.leases.rules import PLACE
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.step import StepText, step
from airflow_coordination.stores.sql.statements.symbols import LIFE
from airflow_coordination.stores.sql.statements.words import SqlWords


def place(dialect: Dialect) -> StepText:
    """Return the statement that places one partition."""
    return step(SqlWords(dialect), PLACE, LIFE, returning="source_partition_key")
