"""What is done to a partition that nobody has worked on yet: a life from another store, or another payload."""

from __future__ import annotations

from airflow_coordination.protocol.rules import PLACE, REFRESH
from airflow_coordination.stores.sql.columns import PARTITION
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.step import StepText, step
from airflow_coordination.stores.sql.statements.symbols import LIFE, refresh_of
from airflow_coordination.stores.sql.statements.words import SqlWords


def place(dialect: Dialect) -> StepText:
    """Return the statement that places one partition."""
    return step(SqlWords(dialect), PLACE, LIFE, returning="source_partition_key")


def refresh(dialect: Dialect, *, bare: bool) -> StepText:
    """Return the statement that gives a partition another payload.

    :param bare: it has none.
    """
    return step(SqlWords(dialect), REFRESH, refresh_of(bare=bare), returning=PARTITION)
