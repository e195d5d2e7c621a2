"""A table's key column: what it is, and where ranges of its rows end."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.pool import NullPool

from airflow_coordination.leases.errors import InvalidInputError
from airflow_coordination.sources.errors import SourceError, wrapped
from airflow_coordination.sources.sql.key_kinds import KINDS, KeyKind, kind_of

_ACTION = "read a key column"


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of a table, and the way to its database. Nothing is kept open between calls.

    :param database: a URL, an engine, an Airflow hook with ``get_sqlalchemy_engine``, or a function that returns one
        of them or a connection; never shown, stored or part of a partition.
    """

    database: Any = field(repr=False)
    table: str
    column: str
    schema: str | None = None

    def __reduce_ex__(self, protocol: Any) -> Any:
        if isinstance(self.database, str | sa.URL):
            raise TypeError(
                "A database's URL may hold a password and is not pickled; give sql_ranges a function that returns it"
            )
        return object.__reduce_ex__(self, protocol)

    @property
    def name(self) -> str:
        """The table and the column, for messages."""
        return ".".join(part for part in (self.schema, self.table, self.column) if part)

    def kind(self) -> KeyKind:
        """Return the kind of the column's values.

        :raises InvalidInputError: when there is no such table or column, or its values cannot bound a range.
        """
        with self._connected() as connection:
            try:
                columns = sa.inspect(connection).get_columns(self.table, schema=self.schema)
            except NoSuchTableError as error:
                raise InvalidInputError("table", self.table, "does not exist", "Check its name and schema") from error
        types = {str(column["name"]): column["type"] for column in columns}
        if self.column not in types:
            near = difflib.get_close_matches(self.column, list(types), n=1, cutoff=0.5) or sorted(types)
            problem = f"is no column of {self.table}"
            raise InvalidInputError("column", self.column, problem, f"There is {', '.join(near)}")
        kind = kind_of(types[self.column])
        if kind is None:
            problem = f"is {types[self.column]!r}, whose values cannot bound a range"
            raise InvalidInputError("column", self.column, problem, f"Use one of these: {', '.join(KINDS)}")
        return kind

    def count(self, kind: KeyKind, after: Any, top: Any) -> int:
        """Return how many rows have a key above ``after`` and up to ``top``; see :meth:`bounds`."""
        inside = self._inside(sa.select(sa.func.count(self._key(kind))), kind, after, top)
        with self._connected() as connection:
            return int(connection.execute(inside).scalar_one())

    def top(self, kind: KeyKind, after: Any) -> Any:
        """Return the greatest key above ``after`` as JSON, ``None`` when there is none."""
        key = self._key(kind)
        greatest = self._inside(sa.select(key), kind, after, None).order_by(key.desc()).limit(1)
        with self._connected() as connection:
            value = connection.execute(greatest).scalar()
        return None if value is None else kind.bound(value)

    def bounds(self, kind: KeyKind, after: Any, top: Any, rows: int, most: int) -> tuple[list[Any], bool]:
        """Return the upper bounds of the next ranges, and whether the last of them ends at ``top``.

        A range holds ``rows`` rows, and more where many have the same key.

        :param after: the last bound there is, as JSON; ``None`` for the beginning.
        :param top: the last key that is wanted, as JSON; ``None`` for no end: the last range is open then.
        :param most: return so many bounds at most.
        """
        found: list[Any] = []
        with self._connected() as connection:
            while len(found) < most:
                bound = self._next(connection, kind, after, top, rows)
                if bound is None:
                    return [*found, top], True
                if bound == after:
                    problem = f"gives {bound!r} after itself: its values are not kept as its type says"
                    raise SourceError(_ACTION, self.name, problem, "Use another key column")
                found.append(bound)
                after = bound
        return found, False

    def _next(self, connection: Connection, kind: KeyKind, after: Any, top: Any, rows: int) -> Any:
        """Return the key of the last row of a range, ``None`` when no row comes after it."""
        key = self._key(kind)
        query = self._inside(sa.select(key), kind, after, top).order_by(key).limit(2).offset(rows - 1)
        last = connection.execute(query).scalars().all()
        return kind.bound(last[0]) if len(last) == 2 else None

    def _inside(self, query: sa.Select[Any], kind: KeyKind, after: Any, top: Any) -> sa.Select[Any]:
        key = self._key(kind)
        query = query.select_from(sa.table(self.table, schema=self.schema))
        query = query.where(key.is_not(None) if after is None else key > kind.read(after))
        return query if top is None else query.where(key <= kind.read(top))

    def _key(self, kind: KeyKind) -> sa.ColumnClause[Any]:
        return sa.column(self.column, kind.sql)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        with wrapped(_ACTION, self.name):
            database = self.database
            if callable(database):
                database = database()
            if hasattr(database, "get_sqlalchemy_engine"):
                database = database.get_sqlalchemy_engine()
            if isinstance(database, str | sa.URL):
                database = sa.create_engine(database, poolclass=NullPool)
            with database.connect() if isinstance(database, Engine) else database as connection:
                yield connection
