"""The owner's writes: each one update under the fence, the chain's writes also under the operation before."""

from __future__ import annotations

from typing import Final

from airflow_coordination.protocol.rules import ADOPT, ASK, BEGIN, END, ON_PARKED, RENEW, SAVE
from airflow_coordination.stores.sql.columns import FAILS, PARTITION, SOURCES
from airflow_coordination.stores.sql.statements import symbols
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.step import NOT_AWAITED, ONE, StepText, step
from airflow_coordination.stores.sql.statements.symbols import ACCOUNTED, OWNER_WRITE, QUESTION
from airflow_coordination.stores.sql.statements.words import ROW, EndingWords, SqlWords

HELD: Final = f"{ROW.ownership_timeout}, CASE WHEN {ROW.wanted_token} = {ROW.token} THEN {ROW.wanted_by} END"
"""What an owner learns with each write that holds its lease on: until when, and who has asked for it."""

SOMETHING_FAILS: Final = f"EXISTS (SELECT 1 FROM {SOURCES} WHERE source_identifier = :source AND {FAILS})"
"""What a success learns with its ending on SQLite, so that it writes nothing more where nothing has failed."""


def adopt(dialect: Dialect) -> StepText:
    """Return the statement by which a later try of the task watches the tenure."""
    return step(SqlWords(dialect), ADOPT, OWNER_WRITE, returning="1")


def renew(dialect: Dialect) -> StepText:
    """Return the statement that holds the lease on; no chain write."""
    return step(SqlWords(dialect), RENEW, OWNER_WRITE, returning=HELD)


def ask(dialect: Dialect) -> StepText:
    """Return the statement by which another worker asks for the lease; no chain write."""
    return step(SqlWords(dialect), ASK, QUESTION, returning="1")


def begin(dialect: Dialect) -> StepText:
    """Return the statement that is a driver's first write."""
    return step(SqlWords(dialect), BEGIN, OWNER_WRITE, returning=PARTITION)


def save(dialect: Dialect, *, accounted: bool = False) -> StepText:
    """Return the statement that stores progress and the blocks it stands for.

    :param accounted: with totals of the accounting.
    """
    return step(SqlWords(dialect), SAVE, ACCOUNTED if accounted else OWNER_WRITE, returning=HELD)


def on_parked(dialect: Dialect) -> StepText:
    """Return the statement that stores what is to follow when the partition is parked."""
    return step(SqlWords(dialect), ON_PARKED, OWNER_WRITE, returning="1")


def end(
    dialect: Dialect,
    slot: int,
    *,
    keep_progress: bool,
    clear_staged: bool,
    accounted: bool = False,
    completes: bool = False,
    releases: bool = False,
) -> StepText:
    """Return the statement that ends a tenure.

    :param slot: the ring's slot of the tenure's token.
    :param accounted: with totals of the accounting.
    :param completes: with COMPLETED as the status after; then it is refused where somebody waits for the partition.
    :param releases: not refused there: the statement that releases who waits follows in the same transaction.
    """
    write = symbols.end(completes=releases, keep_progress=keep_progress, clear_staged=clear_staged, accounted=accounted)
    found = f"{ONE} AND {NOT_AWAITED}" if completes and not releases else ONE
    returning = "source_partition_key" if dialect.locks else f"source_partition_key, {SOMETHING_FAILS}"
    return step(EndingWords(dialect, slot), END, write, found=found, returning=returning)
