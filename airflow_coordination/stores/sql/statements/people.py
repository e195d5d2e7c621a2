"""People's actions: one conditional update each, on what the person saw."""

from __future__ import annotations

from airflow_coordination.protocol.rules import ACT
from airflow_coordination.protocol.writes import Action
from airflow_coordination.stores.sql.columns import PARTITION
from airflow_coordination.stores.sql.statements import symbols
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.step import NOT_AWAITED, ONE, StepText, step
from airflow_coordination.stores.sql.statements.words import SqlWords


def act(dialect: Dialect, action: Action, *, held: bool, awaited: bool = False, releases: bool = False) -> StepText:
    """Return the statement of ``action`` on a partition that was seen ``held`` or not, ``awaited`` or not.

    :param releases: the statement that releases who waits for it follows in the same transaction.
    """
    found = f"{ONE} AND {NOT_AWAITED}" if action is Action.FINISH and not releases else ONE
    write = symbols.act(action, held=held, awaited=awaited)
    return step(SqlWords(dialect), ACT, write, found=found, returning=PARTITION)
