"""A table's key column: its kind, where ranges of its rows end, and a range as a condition."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import types
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.pool import NullPool

from airflow_coordination.systems.left_out import NAMED, LeftOut
from airflow_coordination.systems.suppliers import SourceError, wrapped
from airflow_coordination.values.input_errors import InvalidInputError

LONGEST_BOUND: Final = 1_000
"""In characters of JSON, so that two bounds fit into a payload of 4 KB, and a hundred into a global state."""


@dataclass(frozen=True, slots=True)
class KeyKind:
    """One kind of key column.

    :param name: its name in a payload.
    :param python: the type of its values.
    :param sql: the SQL type of its bounds.
    :param written: turns a value into JSON.
    :param read: turns it back.
    """

    name: str
    python: type
    sql: types.TypeEngine[Any]
    written: Callable[[Any], Any]
    read: Callable[[Any], Any]
    present: Callable[[datetime], Any] = lambda now: None
    """The greatest key after which no row comes with the same or a lower one; ``None`` where keys are no times."""

    def bound(self, value: object) -> Any:
        """Return a value of the column as JSON.

        :raises InvalidInputError: when it is no value of this kind, or too long.
        """
        if not isinstance(value, self.python) or isinstance(value, bool):
            problem = f"holds a {type(value).__name__}, though it is of kind {self.name}"
            raise InvalidInputError("column", value, problem, "Use a column whose values are all of its type")
        written = self.written(value)
        length = len(json.dumps(written))
        if length > LONGEST_BOUND:
            problem = f"would bound a range by {length} characters, the limit is {LONGEST_BOUND}"
            raise InvalidInputError("column", value, problem, "Use a key column with shorter values")
        return written


def _as_it_is(value: Any) -> Any:
    return value


def _utc_clock(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(tzinfo=None)


def _last_whole_day(now: datetime) -> date:
    """Return the last day that is over everywhere: rows of a day that is not may still come, and would not be seen."""
    return (now.astimezone(UTC) - timedelta(hours=12)).date() - timedelta(days=1)


KINDS: Final = {
    kind.name: kind
    for kind in (
        KeyKind("integer", int, types.BigInteger(), _as_it_is, _as_it_is),
        KeyKind("text", str, types.String(), _as_it_is, _as_it_is),
        KeyKind("decimal", Decimal, types.Numeric(), str, Decimal),
        KeyKind("date", date, types.Date(), date.isoformat, date.fromisoformat, _last_whole_day),
        KeyKind("timestamp", datetime, types.DateTime(), datetime.isoformat, datetime.fromisoformat, _utc_clock),
        KeyKind(
            "timestamptz",
            datetime,
            types.DateTime(timezone=True),
            datetime.isoformat,
            datetime.fromisoformat,
            _as_it_is,
        ),
        KeyKind("uuid", UUID, types.Uuid(), str, UUID),
    )
}


def kind_of(column_type: types.TypeEngine[Any]) -> KeyKind | None:
    """Return the kind of a column of this type, ``None`` if its values cannot bound a range."""
    try:
        python = column_type.python_type
    except NotImplementedError:
        return None
    if python is datetime and getattr(column_type, "timezone", False):
        return KINDS["timestamptz"]
    return next((kind for kind in KINDS.values() if kind.python is python), None)


def range_clause(payload: Mapping[str, Any]) -> sa.ColumnElement[bool]:
    """Return the condition that selects a partition's rows, for SQLAlchemy's ``where``.

    :param payload: the payload of a partition that :func:`sql_ranges` made.
    """
    kind = KINDS[payload["type"]]
    key = sa.column(payload["column"], kind.sql)
    inside: sa.ColumnElement[bool] = sa.true()
    if payload["lower"] is not None:
        inside = sa.and_(inside, key > kind.read(payload["lower"]))
    if payload["upper"] is not None:
        inside = sa.and_(inside, key <= kind.read(payload["upper"]))
    return sa.or_(inside, key.is_(None)) if payload["nulls"] else inside


_ACTION = "read a key column"
_TRIES = 100
"""The most odd keys side by side that are passed by."""
_ODD = (InvalidInputError, ValueError, sa.exc.DataError)
"""What one odd value raises when it is read or written down."""
_NUMBERS = ("integer", "decimal")
_FAR, _MUCH_FARTHER = 1_000_000, 100


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

    def rows(self, payloads: Iterable[Mapping[str, Any]]) -> list[int]:
        """Return how many rows each range has now.

        :param payloads: of partitions of this table.
        """
        table = sa.table(self.table, schema=self.schema)
        with self._connected() as connection:
            queries = (sa.select(sa.func.count()).select_from(table).where(range_clause(each)) for each in payloads)
            return [int(connection.execute(query).scalar_one()) for query in queries]

    def top(self, kind: KeyKind, after: Any, now: datetime, left: LeftOut) -> Any:
        """Return the greatest key above ``after`` that may bound a range, as JSON, ``None`` when there is none.

        A key that no row may come after is no bound: a time that is not yet, a number far beyond all others, a value
        that is none of its column's kind. Its row waits, and is counted.

        :param now: the present.
        :param left: counts such rows.
        """
        key = self._key(kind)
        present = kind.present(now)
        with self._connected() as connection:
            greatest = self._inside(sa.select(key), kind, after, None)
            if present is not None:
                self._say_what_is_ahead(connection, greatest.where(key > present), left)
                greatest = greatest.where(key <= present)
            found = self._greatest(connection, greatest, kind, left)
            if not found or kind.name not in _NUMBERS:
                return found[0] if found else None
            return self._near(connection, found, kind, after, left)

    def _greatest(self, connection: Connection, query: sa.Select[Any], kind: KeyKind, left: LeftOut) -> list[Any]:
        """Return the greatest key that can bound a range, as JSON, of numbers the two greatest different ones.

        Rows whose key cannot are work that is left out: no later row would be seen after them.
        """
        key = self._key(kind)
        query = query.order_by(key.desc()).limit(1)
        found: list[Any] = []
        odd = 0
        while odd < _TRIES and len(found) < (2 if kind.name in _NUMBERS else 1):
            try:
                value = connection.execute(query.offset(odd)).scalar()
                if value is None:
                    break
                found.append(kind.bound(value))
                query, odd = query.where(key < value), 0
            except _ODD as error:
                odd += 1
                left.failed(self.name, error)
        return found

    def _near(self, connection: Connection, found: list[Any], kind: KeyKind, after: Any, left: LeftOut) -> Any:
        """Return the greatest key, or the one before it where that one is far beyond all others."""
        below = found[1] if len(found) == 2 else after
        key = self._key(kind)
        least = connection.execute(
            sa.select(key)
            .select_from(sa.table(self.table, schema=self.schema))
            .where(key.is_not(None))
            .order_by(key)
            .limit(1)
        ).scalar()
        if below is None or least is None or not _is_far(kind.read(found[0]), kind.read(below), least):
            return found[0]
        left.no_work(
            found[0], "are far beyond all others and wait, because no row that comes later would be seen after them"
        )
        return found[1] if len(found) == 2 else None

    def _say_what_is_ahead(self, connection: Connection, ahead: sa.Select[Any], left: LeftOut) -> None:
        key = ahead.selected_columns[0]
        count = connection.execute(ahead.with_only_columns(sa.func.count())).scalar_one()
        if count:
            named = connection.execute(
                ahead.with_only_columns(sa.cast(key, sa.String)).distinct().limit(NAMED)
            ).scalars()
            why = "are of times that are not over and wait, because no row that comes later would be seen after them"
            left.some_no_work(list(named), count, why)

    def bounds(
        self, kind: KeyKind, after: Any, top: Any, rows: int, most: int, left: LeftOut
    ) -> tuple[list[Any], bool]:
        """Return the upper bounds of the next ranges, and whether the last of them ends at ``top``.

        A range holds ``rows`` rows, and more where many have the same key.

        :param after: the last bound there is, as JSON; ``None`` for the beginning.
        :param top: the last key that is wanted, as JSON; ``None`` for no end: the last range is open then.
        :param most: return so many bounds at most.
        :param left: counts rows whose key can bound no range; they lie inside of one.
        """
        found: list[Any] = []
        with self._connected() as connection:
            while len(found) < most:
                bound = self._next(connection, kind, after, top, rows, left)
                if bound is None:
                    return [*found, top], True
                if bound == after:
                    problem = f"gives {bound!r} after itself: its values are not kept as its type says"
                    raise SourceError(_ACTION, self.name, problem, "Use another key column")
                found.append(bound)
                after = bound
        return found, False

    def _next(self, connection: Connection, kind: KeyKind, after: Any, top: Any, rows: int, left: LeftOut) -> Any:
        """Return the key of the last row of a range, ``None`` when no row comes after it.

        Where that key can bound no range, the range goes on to the first one that can.
        """
        key = self._key(kind)
        query = self._inside(sa.select(key), kind, after, top).order_by(key)
        odd: list[Exception] = []
        while len(odd) < _TRIES:
            try:
                last = connection.execute(query.limit(2).offset(rows - 1 + len(odd))).scalars().all()
                if len(last) < 2 and len(odd) >= rows and after is None:
                    raise odd[0]  # no key so far can bound a range, so it is the column that cannot
                return kind.bound(last[0]) if len(last) == 2 else None
            except _ODD as error:
                if error in odd:
                    raise
                left.no_work(f"{self.name}: {error}", "can bound no range, and lie inside of one")
                odd.append(error)
        problem = f"has {_TRIES} keys in a row that can bound no range"
        raise SourceError(_ACTION, self.name, problem, "Use another key column") from odd[0]

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


def _is_far(greatest: int | Decimal, below: int | Decimal, least: int | Decimal) -> bool:
    """Tell whether a number lies so far beyond the others that it counts nothing: 2147483647 after 1, 2, 3."""
    span = below - least
    return span > 0 and greatest - below > max(_FAR, _MUCH_FARTHER * span)
