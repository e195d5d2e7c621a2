"""What the two engines say differently; names and arrays in PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.values.input_errors import SettingsError

_PARAMETER = re.compile(r"(?<!:):([a-z_0-9]+)")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement for a driver.

    :param text: its parameters are ``:name`` on SQLite and ``$1``, which psycopg need not parse, on PostgreSQL.
    :param names: the parameters' names in the order of their numbers; ``None`` on SQLite.
    """

    text: str
    names: tuple[str, ...] | None

    def bind(self, parameters: Mapping[str, Any]) -> Mapping[str, Any] | tuple[Any, ...]:
        """Return the parameters as the driver takes them."""
        return parameters if self.names is None else tuple(map(parameters.__getitem__, self.names))


@dataclass(frozen=True, slots=True)
class Dialect:
    """The differing fragments.

    :param name: ``sqlite`` or ``postgresql``.
    :param now: the store's clock as an expression in microseconds. It is the same throughout one statement
        and the planner may use it as an index bound.
    :param locks: whether rows are locked one by one, so that a busy one has to be skipped.
    """

    name: str
    now: str
    locks: bool

    def among(self, key: str, keys: str) -> str:
        """Return whether a JSON list of texts has this one, as an expression."""
        if self.locks:
            return f"jsonb_exists(CAST({keys} AS jsonb), CAST({key} AS TEXT))"
        return f"EXISTS (SELECT 1 FROM json_each({keys}) WHERE value = {key})"

    def lacking(self, keys: str, key: str) -> str:
        """Return a JSON list of texts without one of them, NULL without any, as an expression."""
        if self.locks:
            return f"nullif(CAST(CAST({keys} AS jsonb) - CAST({key} AS TEXT) AS TEXT), '[]')"
        return f"(SELECT nullif(json_group_array(value), '[]') FROM json_each({keys}) WHERE value <> {key})"

    def statement(self, text: str) -> Statement:
        """Return ``text`` as this engine's driver takes it."""
        flat = " ".join(text.split())  # one text for one statement: drivers keep plans by it
        if not self.locks:
            return Statement(flat, None)
        numbers: dict[str, int] = {}

        def numbered(found: re.Match[str]) -> str:
            return f"${numbers.setdefault(found[1], len(numbers) + 1)}"

        numbered_text = _PARAMETER.sub(numbered, flat)
        return Statement(numbered_text, tuple(numbers))


def renamed(statement: str, prefix: str) -> str:
    """Return ``statement`` with ``prefix`` before the name of each parameter, so that two writes can share a text."""
    return _PARAMETER.sub(rf":{prefix}\1", statement)


def sqlite() -> Dialect:
    """Return SQLite's dialect: the host's clock, given with each statement."""
    return Dialect("sqlite", ":now", locks=False)


def postgresql(*, injected_clock: bool) -> Dialect:
    """Return PostgreSQL's dialect: the server's clock at the statement's arrival, unless a test injects one."""
    # STABLE, so that the planner takes it as an index bound and all rows see one time, which clock_timestamp() is not;
    # now() is as old as the transaction.
    server = "CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS BIGINT)"
    return Dialect("postgresql", "CAST(:now AS BIGINT)" if injected_clock else server, locks=True)


_LONGEST: Final = 63
"""Bytes; PostgreSQL cuts longer names off without an error, and the rest would mean another role or schema."""


def check_name(field: str, name: str) -> str:
    """Return ``name`` if it can be the name of something in PostgreSQL.

    :param field: how the error names it.
    :raises SettingsError: when it is empty, longer than 63 bytes, or has characters that no terminal shows.
    """
    if name and len(name.encode()) <= _LONGEST and name.isprintable():
        return name
    problem = "cannot be a name in PostgreSQL"
    raise SettingsError(field, name, problem, f"Give 1 to {_LONGEST} bytes that can be printed")


def quote_name(name: str) -> str:
    """Return ``name`` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def of_numbers(numbers: Iterable[int]) -> str:
    """Return the text of an array of numbers."""
    return f"{{{','.join(map(str, numbers))}}}"


def of_texts(texts: Iterable[str | None]) -> str:
    """Return the text of an array of texts, ``None`` as NULL: in quotes, only quotes and backslashes mean anything."""
    return f"{{{','.join(map(_quoted, texts))}}}"


def _quoted(text: str | None) -> str:
    if text is None:
        return "NULL"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
