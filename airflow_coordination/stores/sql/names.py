"""Names in PostgreSQL, as identifiers of its SQL."""

from __future__ import annotations

from typing import Final

from airflow_coordination.values.input_errors import SettingsError

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
