"""How records get into a table of PostgreSQL: many by one copy and one statement, or row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.systems.sink import SinkTask

JSON: Final = "jsonb"
"""What is nested is sent as."""


class NoStageError(Exception):
    """This role may make no temporary table here, or this server none at all."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A table of one transaction, into which a bulk is copied, and out of which one statement upserts it.

    It is gone with its transaction, so a pooler that gives the next one another connection does no harm. A value gets
    there the type in which psycopg would send it alone, and a text, which PostgreSQL reads as the column wants it, the
    column's: so the server casts, rounds and refuses as it does row by row.

    :param create: makes it.
    :param copy: takes the rows.
    :param upsert: writes them; its parameters are the fence of all of them.
    :param fence: what these rows have in common: their partition, and the token.
    """

    create: Any
    copy: Any
    upsert: Any
    fence: tuple[str, int]

    @classmethod
    def of(cls, table: Any, fence: Sequence[str], columns: Sequence[str], task: SinkTask) -> Stage:
        """Return the stage of records with these columns; the parameters are those of :func:`upsert`."""
        from psycopg import sql

        def typed(name: str) -> Any:
            kind = task.schema.field(name).type if name in task.schema.names else None
            own = None if kind is None else sent_as(kind)
            column = sql.Identifier(name)
            return sql.SQL("null::{} as {}").format(sql.SQL(own), column) if own else column

        stage = sql.Identifier("pg_temp", "coordination_stage")
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        kinds = sql.SQL(", ").join(map(typed, columns))
        create = "create temporary table coordination_stage on commit drop as select {} from {} limit 0"
        staged = sql.SQL("select {}, %s::text, %s::bigint from {}").format(names, stage)
        return cls(
            sql.SQL(create).format(kinds, table),
            sql.SQL("copy {} ({}) from stdin").format(stage, names),
            upsert(table, fence, columns, task.key, staged),
            (task.partition_id, task.token),
        )

    def fill(self, cursor: Any, rows: Sequence[Sequence[Any]]) -> None:
        """Upsert rows, as values of Python.

        :raises NoStageError: before anything is written.
        """
        self._made(cursor)
        with cursor.copy(self.copy) as copy:
            for row in rows:
                copy.write_row(row)
        cursor.execute(self.upsert, self.fence)

    def fill_with_lines(self, cursor: Any, lines: Any) -> None:
        """Upsert rows.

        :param lines: of CSV (``csv_lines``), as bytes.
        :raises NoStageError: before anything is written.
        """
        from psycopg import sql

        self._made(cursor)
        with cursor.copy(sql.SQL("{} with (format csv)").format(self.copy)) as copy:
            copy.write(lines)
        cursor.execute(self.upsert, self.fence)

    def _made(self, cursor: Any) -> None:
        import psycopg

        try:
            cursor.execute(self.create)
        except (psycopg.errors.InsufficientPrivilege, psycopg.NotSupportedError) as error:
            raise NoStageError from error


def sent_as(kind: Any) -> str | None:
    """Return the type in which PostgreSQL gets values of a type of Arrow; ``None`` for texts, which it reads itself."""
    import pyarrow.types as of

    if of.is_struct(kind) or of.is_map(kind):
        return JSON
    if of.is_list(kind) or of.is_large_list(kind):
        each = sent_as(kind.value_type)
        return each if each in (None, JSON) or each.endswith("[]") else f"{each}[]"
    if of.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    return next((name for holds, name in _sent(of) if holds(kind)), None)


def _sent(of: Any) -> Sequence[tuple[Callable[[Any], bool], str]]:
    return (
        (of.is_boolean, "boolean"),
        (of.is_integer, "bigint"),
        (of.is_floating, "double precision"),
        (of.is_decimal, "numeric"),
        (of.is_date, "date"),
        (of.is_duration, "interval"),
        (of.is_binary, "bytea"),
    )


def upsert(table: Any, fence: Sequence[str], columns: Sequence[str], key: str, rows: Any = None) -> Any:
    """Return the statement that writes records: it changes nothing where a later owner of the partition wrote.

    :param table: its name, quoted.
    :param fence: the two columns that tell who wrote a row.
    :param columns: what is written beside them.
    :param key: the column that identifies a record.
    :param rows: a query for them; by default one record, as parameters.
    """
    from psycopg import sql

    partition, token = map(sql.Identifier, fence)
    written = [*map(sql.Identifier, columns), partition, token]
    return sql.SQL(
        "insert into {table} as target ({columns}) {rows} on conflict ({key}) do update set {changes} "
        "where target.{partition} is distinct from excluded.{partition} or target.{token} is null "
        "or target.{token} <= excluded.{token}"
    ).format(
        table=table,
        columns=sql.SQL(", ").join(written),
        rows=rows or sql.SQL("values ({})").format(sql.SQL(", ").join([sql.Placeholder()] * len(written))),
        key=sql.Identifier(key),
        changes=sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(name) for name in written),
        partition=partition,
        token=token,
    )
