"""The functions that users call for ranges of an SQL table, and for the rows of one range."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import sqlalchemy as sa

from airflow_coordination.stores.addresses import secrets_in
from airflow_coordination.systems.sql.key_column import KeyColumn
from airflow_coordination.systems.sql.supplier import SqlRanges
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.scrubbing import know
from airflow_coordination.values.times import positive, whole_above_zero

LATENESS: Final = timedelta(minutes=10)


def sql_ranges(
    database: Any,
    table: str,
    column: str,
    *,
    schema: str | None = None,
    rows: int | None = None,
    partitions: int | None = None,
    append_only: bool = False,
    lateness: timedelta = LATENESS,
    utc: bool = False,
    counted: bool = False,
) -> SqlRanges:
    """Return a supplier that makes partitions of a table's rows, each row in exactly one.

    A partition holds the rows with ``lower < key <= upper``; ``None`` stands for no bound, and the first partition
    holds the rows without a key, too. :func:`range_clause` makes the condition of its payload. The bounds come from
    the rows themselves, so the partitions are of equal size whatever gaps the key has; that reads the key's index once.

    :param database: a URL, a SQLAlchemy engine, an Airflow hook with ``get_sqlalchemy_engine``, or a function that
        returns one of them or a connection. It never gets into a payload or the global state.
    :param table: the table's or view's name, without schema; names are quoted, so any may be given.
    :param column: the key: integer, decimal, text, date, timestamp or UUID; it should have an index.
    :param rows: rows per partition; more where many rows have the same key.
    :param partitions: how many partitions, instead of ``rows``.
    :param append_only: false: the table is divided once, the last partition having no upper bound, so that no row is
        left out. True: each run adds partitions for the rows above the last run's greatest key.
    :param lateness: with ``append_only``: how long after its key was given a row may still be uncommitted. A key
        becomes a bound only when it was the greatest this long ago. Keys must grow: a row that comes later than that
        with a key below the last bound is not seen.
        A key is no bound either as long as it is a time that is not yet, or a number far beyond all others (9999-12-31,
        2147483647): its row waits and is named in the log.
    :param utc: with ``append_only`` and a column of times without a zone: they are written in UTC. Local times are
        refused, because they come twice where a clock is put back.
    :param counted: keep in each payload how many rows the range had when it was made (``rows``), at the price of a
        query each, so that ``supplier.grown(coordinator)`` names those that have more now.
    :raises InvalidInputError: for options that are wrong or contradict each other; the message names them.
    """
    _check_size(rows, partitions)
    for name, text in (("table", table), ("column", column), ("schema", schema)):
        if not (name == "schema" and text is None):
            _check_name(name, text)
    _check_database(database)
    late = positive("lateness", lateness, zero=True) or timedelta(0)
    return SqlRanges(KeyColumn(database, table, column, schema), rows, partitions, append_only, late, utc, counted)


def _check_size(rows: object, partitions: object) -> None:
    if (rows is None) == (partitions is None):
        problem = "are both given" if rows is not None else "are both missing"
        raise InvalidInputError("rows, partitions", (rows, partitions), problem, "Give one of the two")
    for name, number in (("rows", rows), ("partitions", partitions)):
        if number is not None:
            whole_above_zero(name, number)


def _check_name(field: str, name: object) -> None:
    if not isinstance(name, str) or not name or "\x00" in name:
        raise InvalidInputError(field, name, "is no name", "Give the name as the database knows it")


def _check_database(database: Any) -> None:
    """Refuse what is no way to a database; an address may hold a password, so no message shows it."""
    if isinstance(database, str):
        know(secrets_in(database))
        try:
            sa.make_url(database)
        except (sa.exc.ArgumentError, ValueError):
            raise InvalidInputError("database", "…", "is no database URL", "Write dialect://user@host/name") from None
        return
    known = isinstance(database, sa.Engine | sa.URL) or hasattr(database, "get_sqlalchemy_engine")
    if not known and not callable(database):
        kind = type(database).__name__
        raise InvalidInputError("database", kind, "is no way to a database", "Give a URL, an engine or a function")
