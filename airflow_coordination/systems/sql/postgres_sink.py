"""A table in PostgreSQL: asked before a record is read what it takes; upserts by record id, fenced."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from airflow_coordination.systems.patience import RETRY_FOR, TransientError, check_sink, patient
from airflow_coordination.systems.sink import (
    DELIVERED,
    Answer,
    Guarantee,
    Record,
    SinkNotReadyError,
    SinkTask,
    SinkWriter,
    check_chosen,
    check_fence_names,
    failed,
    record_json,
    refused,
    without_library,
)
from airflow_coordination.systems.sql.csv_lines import can_be_lines, csv_lines
from airflow_coordination.systems.sql.postgres_upsert import JSON, NoStageError, Stage, sent_as, upsert
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.postgres_sessions import ENCODING, FIXED, KEEPALIVES, bounds
from airflow_coordination.values.scrubbing import HIDDEN, know

TAKES: Final = """select current_setting('transaction_read_only'),
    has_any_column_privilege(%s, 'insert') and has_any_column_privilege(%s, 'update'),
    (select min(a.attname::text) from pg_attribute a join pg_type t on t.oid = a.atttypid
        where a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped and a.attnotnull and not a.atthasdef
        and a.attidentity = '' and t.typdefault is null and a.attname::text <> all (%s)
        and not exists (select 1 from pg_trigger g where g.tgrelid = r.oid and not g.tgisinternal))
    from (select %s::regclass::oid) as r"""
"""Triggers may set what is not written."""
KEY_COLUMN: Final = """select format_type(coalesce(nullif(t.typbasetype, 0), a.atttypid),
        case when t.typbasetype <> 0 then t.typtypmod else a.atttypmod end), coalesce(c.collisdeterministic, true)
    from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_collation c on c.oid = a.attcollation
    where a.attrelid = %s::regclass and a.attname = %s"""
_WHOLE: Final = frozenset({"smallint", "integer", "bigint"})
_FOLDING: Final = frozenset({"character", "name", "citext", '"char"'})
"""Types of text in which trailing blanks, what is beyond 63 bytes, or upper and lower case are one."""
_READ: Final = frozenset({"numeric", "real", "double precision", "date", "boolean", "interval", *_WHOLE})
"""Types that text is read as: ``1`` and ``01`` are one number."""


def is_coarser(kind: str, column: str, *, exact_collation: bool = True) -> bool:
    """Say whether two keys of Spark's type may be one in a column.

    :param kind: such as ``bigint`` or ``decimal(10,2)``.
    :param column: as PostgreSQL's ``format_type`` tells it.
    :param exact_collation: whether only equal texts are equal there.
    """
    spark, _, scale = _parts(kind)
    if spark in ("string", "char", "varchar"):
        return not exact_collation or _folds(column)
    if spark in ("timestamp", "timestamp_ntz"):
        return _is_coarser_time(spark, column)
    if spark in ("float", "double", "decimal"):
        return _is_coarser_number(spark, scale, column)
    if spark in ("tinyint", "smallint", "int", "bigint"):
        return _parts(column)[0] in ("real", "double precision")
    return False


def _folds(column: str) -> bool:
    base = _parts(column)[0]
    return base in _FOLDING or base in _READ or base.startswith(("time", "timestamp"))


def _is_coarser_time(kind: str, column: str) -> bool:
    """Microseconds are kept by six digits; an hour that comes twice only by the same kind of time."""
    base, digits, _ = _parts(column)
    if not base.startswith("timestamp"):
        return base == "date" or base.startswith("time")
    return (digits is not None and digits < 6) or base.endswith("with time zone") != (kind == "timestamp")


def _is_coarser_number(kind: str, scale: int | None, column: str) -> bool:
    base, digits, places = _parts(column)
    if kind == "decimal":
        if base == "numeric":
            return digits is not None and (places or 0) < (scale or 0)
        return base in ("real", "double precision") or (base in _WHOLE and bool(scale))
    return base in _WHOLE or base == "numeric" or (base == "real" and kind == "double")


def _parts(name: str) -> tuple[str, int | None, int | None]:
    """Return the name of a type without what stands in brackets, and these numbers."""
    found = re.search(r"\((\d+)(?:,(-?\d+))?\)", name)
    base = re.sub(r"\(.*?\)", "", name).split(" collate ")[0]
    if found is None:
        return base, None, None
    return base, int(found[1]), None if found[2] is None else int(found[2])


CONNECT_WITHIN: Final = 10
"""Seconds for one attempt to connect."""
STATEMENT_WITHIN: Final = 60
"""Seconds after which the server cancels a statement, or ends a transaction in which nothing happens."""
PREPARED_AFTER: Final = 5
"""Executions after which psycopg prepares a statement, where it may."""
_CONNECTION: Final = {
    "application_name": "airflow-coordination sink",
    "tcp_user_timeout": str(STATEMENT_WITHIN * 1000),
    **KEEPALIVES,
}
_SETTINGS: Final = {**FIXED, **bounds(STATEMENT_WITHIN)}
_SET: Final = f"select {', '.join('set_config(%s, %s, true)' for _ in _SETTINGS)}"
"""Within each transaction: a pooler would drop what is set on the session."""
_SUPERSEDED: Final = "a later owner of this partition has written this record already"


@dataclass(frozen=True, slots=True)
class PostgresSink:
    """Writes records into a table, each in the place of the one with the same key.

    *Fenced*: two further columns of the table tell which partition wrote a row, and under which fence's token. An owner
    that lost its lease cannot overwrite what its successor wrote. Another partition can: let the key of a record
    belong to one partition. A row that only a lost tenure wrote stays, under its fence.

    The table needs a primary key or a unique constraint on the key column; :meth:`setup` adds the two columns.
    Each executor needs psycopg.

    :param url: ``postgresql://user@host/database``. Keep the password out of it where you can: executors that have
        ``PGPASSWORD`` or a ``PGPASSFILE`` need none.
    :param table: its name, ``schema.table`` where it is not on the search path.
    :param where: an SQL condition of Spark; ``None`` for all records.
    :param columns: the columns that are written, the key's among them; ``None`` for all columns of the record.
    :param fence_columns: the names of the two columns: text, and bigint.
    :param bulk_records: how many records one transaction holds: they are copied into a temporary table, and one
        statement upserts them. A role that may make none writes row by row.
    :param retry_for: how long a cut connection, a deadlock and the like are repeated.
    :raises InvalidInputError: naming the argument that cannot be used.
    """

    url: str = field(repr=False)
    table: str
    where: str | None = None
    columns: tuple[str, ...] | None = None
    fence_columns: tuple[str, str] = ("lease_partition", "lease_fence")
    bulk_records: int = 10_000
    retry_for: timedelta = RETRY_FOR
    guarantee: Guarantee = field(default=Guarantee.FENCED, init=False)

    def __post_init__(self) -> None:
        url = str(self.url).replace("postgresql+psycopg://", "postgresql://", 1)
        know([_password_of(url)])
        object.__setattr__(self, "url", url)
        check_fence_names("fence_columns", self.fence_columns)
        parts = str(self.table).split(".")
        if not all(parts) or len(parts) > 2:
            raise InvalidInputError("table", self.table, "is no name of a table", "Give 'table' or 'schema.table'")
        check_sink(self.retry_for, self.bulk_records)
        object.__setattr__(self, "columns", check_chosen(self.columns))

    def setup(self) -> None:
        """Add the two columns of the fence to the table, if it lacks them. Needs the right to alter it.

        :raises SinkNotReadyError: when there is no such table, or it may not be altered.
        """
        from psycopg import sql

        partition, token = map(sql.Identifier, self.fence_columns)
        statement = "alter table {} add column if not exists {} text, add column if not exists {} bigint"
        with self._connected() as connection:
            self._columns_of(connection)
            connection.execute(sql.SQL(statement).format(self.identifier(), partition, token))

    def check(self, columns: Sequence[str], key: str) -> None:
        """Look whether the table is there, has the columns, and can tell a record by its key.

        :raises SinkNotReadyError: naming what is missing, and the remedy.
        :raises InvalidInputError: for columns of the records that do not fit.
        """
        written = self.written(columns)
        with self._connected() as connection:
            known = self._columns_of(connection)
            if lacking := [name for name in self.fence_columns if name not in known]:
                problem = f"has no column {lacking[0]!r}, which keeps owners that lost their lease out"
                raise SinkNotReadyError("table", self.table, problem, "Run PostgresSink(…).setup() once")
            for names, place in ((columns, "the records"), (known, f"the table {self.table}")):
                if strange := [name for name in written if name not in names]:
                    problem = f"is no column of {place}"
                    raise InvalidInputError("columns", strange[0], problem, "Name those to write: columns=(…)")
            self._check_taken(connection, written)
            if key not in written or not self._is_unique(connection, key):
                problem = f"has no unique constraint on {key!r} alone, so that a record would be there twice"
                raise SinkNotReadyError("table", self.table, problem, "Make the key column its primary key, or unique")

    def check_key_type(self, key: str, kind: str) -> None:
        """Look whether the table keeps every two keys apart.

        :param kind: Spark's type of the key.
        :raises SinkNotReadyError: when its column rounds, folds or cuts them.
        """
        with self._connected() as connection:
            table = self.identifier().as_string(connection)
            column, exact = connection.execute(KEY_COLUMN, [table, key]).fetchone()
        if is_coarser(kind, column, exact_collation=exact):
            how = column if exact else f"{column} with a collation in which different texts are equal"
            problem = f"has the key column {key!r} of the type {how}, in which two keys of the type {kind} may be one"
            raise SinkNotReadyError("table", self.table, problem, "Give it a type that keeps all keys apart")

    def open(self, task: SinkTask) -> SinkWriter:
        """Return a writer with a connection of its own."""
        return PostgresWriter(self, task)

    def written(self, columns: Sequence[str]) -> list[str]:
        """Return the columns that are written of records with these columns."""
        return list(self.columns or columns)

    def identifier(self) -> Any:
        """Return the table's name, quoted."""
        from psycopg import sql

        return sql.Identifier(*self.table.split("."))

    def connect(self) -> Any:
        """Return a new connection.

        :raises psycopg.OperationalError: when there is none to be had.
        """
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        given = conninfo_to_dict(self.url)
        arguments: dict[str, Any] = {**{name: _CONNECTION[name] for name in _CONNECTION.keys() - given}, **ENCODING}
        connection = psycopg.connect(self.url, connect_timeout=CONNECT_WITHIN, **arguments)
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        connection.prepare_threshold = None  # a pooler may give the next transaction another connection
        return connection

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        try:
            import psycopg
        except ModuleNotFoundError as error:
            raise without_library("table", self.table, error, "psycopg[binary]") from error
        try:
            with self.connect() as connection:
                yield connection
        except psycopg.errors.InsufficientPrivilege as error:
            problem = f"may not be used like that: {_told(error)}"
            raise SinkNotReadyError("table", self.table, problem, "Give the role the right, or another role") from error
        except psycopg.OperationalError as error:
            remedy = "Check the address, and that the driver and each executor may connect"
            raise SinkNotReadyError("table", self.table, f"cannot be reached: {error}", remedy) from error

    def _columns_of(self, connection: Any) -> set[str]:
        found = connection.execute("select to_regclass(%s)::oid", [self.identifier().as_string(connection)]).fetchone()
        if found[0] is None:
            remedy = "Create it first, with a primary key on the key column"
            raise SinkNotReadyError("table", self.table, "does not exist", remedy)
        rows = connection.execute(
            "select attname from pg_attribute where attrelid = %s and attnum > 0 and not attisdropped", found
        )
        return {name for (name,) in rows}

    def _check_taken(self, connection: Any, written: Sequence[str]) -> None:
        """Refuse a table that would take no row whatever is in it."""
        table = self.identifier().as_string(connection)
        read_only, allowed, *lacking = connection.execute(
            TAKES, [table, table, [*written, *self.fence_columns], table]
        ).fetchone()
        if read_only == "on":
            problem = "is on a server, or of a role, that only reads"
            raise SinkNotReadyError("table", self.table, problem, "Give the address of the primary")
        if not allowed:
            problem = "may not be written by the role of this address"
            raise SinkNotReadyError("table", self.table, problem, "Grant it SELECT, INSERT and UPDATE")
        if lacking[0]:
            problem = f"has a column {lacking[0]!r} that must not be null, has no default, and is not written"
            raise SinkNotReadyError("table", self.table, problem, "Write it, or give it a default")

    def _is_unique(self, connection: Any, key: str) -> bool:
        statement = (
            "select 1 from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0] "
            "where i.indrelid = %s::regclass and i.indisunique and i.indnkeyatts = 1 and i.indpred is null "
            "and a.attname = %s"
        )
        found = connection.execute(statement, [self.identifier().as_string(connection), key]).fetchone()
        return found is not None


class PostgresWriter:
    """Upserts bulks. One that the server refuses is halved until the records that are to blame stand alone.

    :param sink: its settings.
    :param task: the Spark task.
    """

    def __init__(self, sink: PostgresSink, task: SinkTask) -> None:
        self._sink, self._task = sink, task
        self._columns = sink.written(task.schema.names)
        self._statement = upsert(sink.identifier(), sink.fence_columns, self._columns, task.key)
        self._as_json = {each.name for each in task.schema if sent_as(each.type) == JSON}
        self._as_lines = can_be_lines(task.schema, self._columns)
        self._stage: Stage | None = Stage.of(sink.identifier(), sink.fence_columns, self._columns, task)
        self._connection: Any = None

    def write(self, records: Sequence[Record]) -> Sequence[Answer]:
        """Upsert a bulk in as few transactions as it takes."""
        answers: dict[int, Answer] = {}
        rows: dict[int, list[Any]] = {}
        for number, record in enumerate(records):
            try:
                rows[number] = self._row(record)
            except ValueError as error:
                answers[number] = refused(str(error))
        answers |= dict(zip(rows, self._written(list(rows.values())), strict=True))
        return [answers[number] for number in range(len(records))]

    def write_columns(self, records: Any) -> bool:
        """Upsert a bulk at once, and say whether it is there. If not, nothing of it counts: write it as records."""
        import psycopg

        stage = self._stage
        lines = csv_lines(records, self._columns) if self._as_lines and stage is not None else None
        if stage is None or lines is None:
            return False
        try:
            return self._transact(records.num_rows, lambda cursor: stage.fill_with_lines(cursor, lines))
        except NoStageError:
            self._stage = None
        except (psycopg.OperationalError, psycopg.InterfaceError):
            self._drop()
        except psycopg.Error:  # of one record, or of all: as records each is told for itself
            pass
        return False

    def close(self) -> None:
        """Let the connection go; everything is committed already."""
        self._drop()

    def _written(self, rows: list[list[Any]]) -> list[Answer]:
        if not rows:
            return []
        try:
            return patient(self._sink.retry_for)(self._upsert, rows)
        except TransientError as error:
            return [failed(str(error))] * len(rows)

    def _upsert(self, rows: list[list[Any]]) -> list[Answer]:
        import psycopg

        try:
            if self._apply(rows):
                return [DELIVERED] * len(rows)
            alone = failed(_SUPERSEDED)
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            alone = refused(_told(error))
        except (ValueError, OverflowError) as error:  # a value that no text of PostgreSQL's can be made of
            self._drop()
            alone = refused(_told(error))
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self._drop()
            raise TransientError(_told(error)) from error
        except psycopg.Error as error:  # a missing column or right: nobody's record is to blame
            return [failed(_told(error))] * len(rows)
        if len(rows) == 1:
            return [alone]
        half = len(rows) // 2
        return self._upsert(rows[:half]) + self._upsert(rows[half:])

    def _apply(self, rows: list[list[Any]]) -> bool:
        """Upsert all rows, or none of them; return whether it was all."""
        import psycopg

        stage = self._stage
        if stage is not None and len(rows) > 1:
            try:
                return self._transact(len(rows), lambda cursor: stage.fill(cursor, rows))
            except NoStageError:  # of this role or server; nothing else is wrong with it
                self._stage = None
            except psycopg.errors.CardinalityViolation:  # one key twice: as ever, the later record wins
                pass
        return self._transact(len(rows), lambda cursor: self._row_by_row(cursor, rows))

    def _transact(self, records: int, send: Callable[[Any], None]) -> bool:
        import psycopg

        self._connection = self._connection or self._sink.connect()
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute(_SET, [text for setting in _SETTINGS.items() for text in setting])
            send(cursor)
            applied = bool(cursor.rowcount == records)
            if not applied:
                raise psycopg.Rollback
        return applied

    def _row_by_row(self, cursor: Any, rows: list[list[Any]]) -> None:
        """Send a statement for each row: prepared, unless a pooler is in between, which would mix up what it is."""
        connection = cursor.connection
        pid = cursor.execute("select pg_backend_pid()").fetchone()[0]
        connection.prepare_threshold = PREPARED_AFTER if pid == connection.info.backend_pid else None
        fence = [self._task.partition_id, self._task.token]
        cursor.executemany(self._statement, [[*row, *fence] for row in rows])

    def _row(self, record: Record) -> list[Any]:
        """Return a record's values as psycopg takes them.

        :raises ValueError: for what JSON has no place for.
        """
        return [_json(name, record[name]) if name in self._as_json else record[name] for name in self._columns]

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # it may be gone already
                connection.close()


def _password_of(url: str) -> str | None:
    """Return the password in an address of PostgreSQL.

    :raises InvalidInputError: when it is none.
    """
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ModuleNotFoundError:  # check says so
        return urlsplit(url).password
    try:
        found = conninfo_to_dict(url).get("password")
    except ProgrammingError:
        problem = "is no address of PostgreSQL"
        raise InvalidInputError("url", HIDDEN, problem, "Give postgresql://user@host/database") from None
    return None if found is None else str(found)


def _json(column: str, value: Any) -> Any:
    """Return what is nested as JSON: by its column, because an empty list does not tell what it is a list of."""
    from psycopg.types.json import Jsonb

    try:
        return None if value is None else Jsonb(record_json(value), dumps=str)
    except ValueError as error:
        raise ValueError(f"column {column!r}: no JSON: {error}") from error


def _told(error: Exception) -> str:
    """Return PostgreSQL's own first line, without the statement and the row."""
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
