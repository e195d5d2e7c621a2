"""Acquiring: by query in the whole order, by key, by hint, and retaking."""

from __future__ import annotations

from typing import Any

from airflow_coordination.protocol.rules import ACQUIRE, ACQUIRE_AS_SEEN, RETAKE, STEAL
from airflow_coordination.stores.sql.columns import PARTITION, PARTITIONS
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.order import first_claimable, first_if_fresh
from airflow_coordination.stores.sql.statements.step import StepText, step
from airflow_coordination.stores.sql.statements.symbols import ACQUISITION
from airflow_coordination.stores.sql.statements.words import FREE, ROW, SqlWords


def acquire_found(dialect: Dialect, key: str, also: str = "", row: Any = ROW) -> StepText:
    """Return the statement that acquires the partition whose key an expression finds, under one more condition.

    :param row: ``FREE`` where the expression finds no running tenure.
    """
    found = f"{also} source_identifier = :source AND source_partition_key = {key}"
    return step(SqlWords(dialect), ACQUIRE, ACQUISITION, found=found, row=row, returning=PARTITION)


def acquire_next(dialect: Dialect, *, new_first: bool, only: str = "") -> StepText:
    """Return the statement that acquires whatever is first in the order; ``only`` is a further condition on the row."""
    return acquire_found(dialect, first_claimable(dialect, new_first=new_first, only=only))


def find_first(dialect: Dialect, *, new_first: bool, only: str = "") -> str:
    """Return SQLite's statement that finds what is first in the order, with its status."""
    return f"""SELECT source_partition_key, source_partition_status FROM {PARTITIONS}
        WHERE source_identifier = :source
        AND source_partition_key = {first_claimable(dialect, new_first=new_first, only=only)}"""


def acquire_fresh(dialect: Dialect, *, new_first: bool) -> StepText:
    """Return the short way of :func:`acquire_next`: it finds nothing as soon as anything but the fresh may be due."""
    return acquire_found(dialect, first_if_fresh(dialect, new_first=new_first), row=FREE)


def acquire_key(dialect: Dialect) -> StepText:
    """Return the statement that acquires one partition, whatever its token."""
    return step(SqlWords(dialect), ACQUIRE, ACQUISITION, returning=PARTITION)


def acquire_hinted(dialect: Dialect) -> StepText:
    """Return the statement that acquires one partition if its token is still the one seen."""
    return step(SqlWords(dialect), ACQUIRE_AS_SEEN, ACQUISITION, returning=PARTITION)


def acquire_free(dialect: Dialect) -> StepText:
    """Return the short way of :func:`acquire_hinted`: it refuses a partition that somebody holds, expired or not."""
    return step(SqlWords(dialect), ACQUIRE_AS_SEEN, ACQUISITION, row=FREE, returning=PARTITION)


def steal(dialect: Dialect) -> StepText:
    """Return the statement that takes a running tenure which was asked for and not handed over."""
    return step(SqlWords(dialect), STEAL, ACQUISITION, returning=PARTITION)


def retake(dialect: Dialect) -> StepText:
    """Return the statement that takes a running tenure over from an earlier try of the same task."""
    return step(SqlWords(dialect), RETAKE, ACQUISITION, returning=PARTITION)
