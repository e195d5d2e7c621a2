"""People's actions: one conditional update each, on what the person saw."""

from __future__ import annotations

from airflow_coordination.leases.rules import ACT
from airflow_coordination.leases.writes import Action
from airflow_coordination.stores.sql.columns import PARTITION
from airflow_coordination.stores.sql.statements import symbols
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.step import StepText, step
from airflow_coordination.stores.sql.statements.words import SqlWords


def act(dialect: Dialect, action: Action, *, held: bool) -> StepText:
    """Return the statement of ``action`` on a partition that was seen ``held`` or not."""
    return step(SqlWords(dialect), ACT, symbols.act(action, held=held), returning=PARTITION)
