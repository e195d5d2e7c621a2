"""What a step writes beside its partition: one statement for each kind of record.

Each takes the part from which it gets one row per record: all at once on PostgreSQL, inside the step's own statement
and only if that was applied, one by one on SQLite.
"""

from __future__ import annotations

from typing import Final, Protocol

from airflow_coordination.leases.fields import HEAD_FIELDS, HEAD_KEY, Kind
from airflow_coordination.leases.records import Audit, EmptyHeads, PutHeads
from airflow_coordination.stores.sql.columns import AUDIT, GIVEN_OF_HEAD, HEAD, HEAD_KEY_COLUMNS, HEADS
from airflow_coordination.stores.sql.statements.dialect import Dialect

_ARRAYS: Final = {Kind.TEXT: "TEXT[]", Kind.BLOCKS: "TEXT[]", Kind.NUMBER: "BIGINT[]"}
_GIVEN: Final = tuple(field.column for field in GIVEN_OF_HEAD)
_REPLACED: Final = ", ".join(
    f"{field.column} = excluded.{field.column}" for field in HEAD_FIELDS if field.name not in HEAD_KEY
)


class _Statement(Protocol):
    def __call__(self, dialect: Dialect, *, inside: bool) -> str:
        """Return the statement.

        :param inside: whether it is part of a statement in which ``done`` has a row if the step was applied.
        """


def _put_heads(dialect: Dialect, *, inside: bool) -> str:
    values = f"VALUES ({', '.join(f':{column}' for column in _GIVEN)}, {dialect.now})"
    if inside:
        arrays = ", ".join(f"CAST(:heads_{field.column} AS {_ARRAYS[field.kind]})" for field in GIVEN_OF_HEAD)
        values = f"""SELECT {", ".join(f"head.{column}" for column in _GIVEN)}, {dialect.now} FROM done
            CROSS JOIN unnest({arrays}) AS head ({", ".join(_GIVEN)})"""
    return f"""INSERT INTO {HEADS} ({HEAD}) {values}
        ON CONFLICT ({", ".join(HEAD_KEY_COLUMNS)}) DO UPDATE SET {_REPLACED}"""


def _empty_heads(dialect: Dialect, *, inside: bool) -> str:
    return f"""UPDATE {HEADS} SET blocks = '[]', row_count = 0, byte_count = 0, published_at = {dialect.now}
        WHERE source_identifier = :source AND source_partition_key = :key
        {"AND EXISTS (SELECT 1 FROM done)" if inside else ""}"""


def _audit(dialect: Dialect, *, inside: bool) -> str:
    return f"""INSERT INTO {AUDIT} (source_identifier, source_partition_key, at, action, acted_by, why, op)
        SELECT :source, :key, {dialect.now}, :action, :by, :why, :op {"FROM done" if inside else ""}"""


_STATEMENT_OF: Final[dict[type, _Statement]] = {PutHeads: _put_heads, EmptyHeads: _empty_heads, Audit: _audit}


def beside(dialect: Dialect, kinds: tuple[type, ...]) -> str:
    """Return the expressions that write records of these kinds after ``done``, each behind a comma."""
    texts = (_STATEMENT_OF[kind](dialect, inside=True) for kind in kinds)
    return "".join(f", beside_{place} AS ({text})" for place, text in enumerate(texts))


def one(dialect: Dialect, *, kind: type) -> str:
    """Return the statement that writes one record of a kind."""
    return _STATEMENT_OF[kind](dialect, inside=False)


def list_audit(_: Dialect) -> str:
    """Return the statement that lists a partition's actions, oldest first."""
    return f"""SELECT source_partition_key, at, action, acted_by, why FROM {AUDIT}
        WHERE source_identifier = :source AND source_partition_key = :key ORDER BY number"""
