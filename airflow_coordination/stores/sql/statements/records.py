"""What a step writes beside its partition: one statement for each kind of record.

The history's is the step's own to say (:mod:`.step`). Each of the others takes the part from which it gets one row per
record: all at once on PostgreSQL, inside the step's own statement and only if that was applied, one by one on SQLite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from airflow_coordination.protocol.fields import HEAD_FIELDS, HEAD_KEY, Kind
from airflow_coordination.protocol.side_writes import (
    Audit,
    CountFailure,
    EmptyHeads,
    ForgetFailures,
    PutFollowUp,
    PutHeads,
    TenureEnded,
)
from airflow_coordination.stores.sql.columns import (
    AUDIT,
    FOLLOW_UP,
    FOLLOW_UPS,
    GIVEN_OF_HEAD,
    HEAD,
    HEAD_KEY_COLUMNS,
    HEADS,
    HISTORY,
    TENURE,
)
from airflow_coordination.stores.sql.statements import parking, pausing
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.step import StepText

_ARRAYS: Final = {Kind.TEXT: "TEXT[]", Kind.BLOCKS: "TEXT[]", Kind.NUMBER: "BIGINT[]"}
_FOUND: Final = "source_identifier = :source AND source_partition_key"
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
    return f"""UPDATE {HEADS} SET blocks = '[]', row_count = 0, byte_count = 0, published_at = {dialect.now},
        accounting = NULL
        WHERE source_identifier = :source AND source_partition_key = :key
        {"AND EXISTS (SELECT 1 FROM done)" if inside else ""}"""


def _audit(dialect: Dialect, *, inside: bool) -> str:
    return f"""INSERT INTO {AUDIT} (source_identifier, source_partition_key, at, action, acted_by, why, op)
        SELECT :source, :key, {dialect.now}, :action, :by, :why, :op {"FROM done" if inside else ""}"""


def _put_follow_up(dialect: Dialect, *, inside: bool) -> str:
    return f"""INSERT INTO {FOLLOW_UPS} ({FOLLOW_UP})
        SELECT :source, :key, :token, :op, :follow_up, {dialect.now} {"FROM done" if inside else ""}"""


_STATEMENT_OF: Final[dict[type, _Statement]] = {
    PutHeads: _put_heads,
    EmptyHeads: _empty_heads,
    Audit: _audit,
    PutFollowUp: _put_follow_up,
    CountFailure: pausing.count_failure,
    ForgetFailures: pausing.forget_failures,
}


def beside(dialect: Dialect, step: StepText, kinds: tuple[type, ...], done: str = "done") -> str:
    """Return the expressions that write records of these kinds with a step, each behind a comma.

    :param step: the step, which the expression ``done`` takes.
    """
    changed = f"{_FOUND} = ANY (ARRAY(SELECT source_partition_key FROM {done}))"
    texts = (
        step.history(changed) if kind is TenureEnded else _STATEMENT_OF[kind](dialect, inside=True) for kind in kinds
    )
    return "".join(f", {done}_beside_{place} AS ({text})" for place, text in enumerate(texts))


def before(dialect: Dialect, *, step: Callable[..., StepText], **shape: Any) -> str:
    """Return SQLite's statement that remembers, before a step and in its transaction, the tenures which it ends."""
    return step(dialect, **shape).history()


def one(dialect: Dialect, *, kind: type) -> str:
    """Return the statement that writes one record of a kind."""
    return _STATEMENT_OF[kind](dialect, inside=False)


def list_audit(_: Dialect) -> str:
    """Return the statement that lists a partition's actions, oldest first."""
    return f"""SELECT source_partition_key, at, action, acted_by, why FROM {AUDIT}
        WHERE source_identifier = :source AND source_partition_key = :key ORDER BY number"""


def list_audit_of_source(_: Dialect) -> str:
    """Return the statement that lists what people did to a source and all of its partitions, newest first."""
    return f"""SELECT source_partition_key, at, action, acted_by, why FROM {AUDIT}
        WHERE source_identifier = :source ORDER BY number DESC LIMIT :limit"""


def list_follow_ups(_: Dialect, *, one_key: bool, after: bool) -> str:
    """Return the statement that lists notes of what follows endings, of one partition or of a source."""
    wanted = "AND source_partition_key = :key" if one_key else ""
    behind = "AND (source_partition_key, token, {op}) > (:after_key, :after_token, :after_op)" if after else ""
    of_source = f"source_identifier = :source {wanted}"
    return f"""SELECT {FOLLOW_UP} FROM (
        SELECT {FOLLOW_UP} FROM {FOLLOW_UPS} WHERE {of_source} {behind.format(op="op")}
        UNION ALL {parking.NOTES} AND {of_source} {behind.format(op="last_op")}) AS notes
        ORDER BY source_partition_key, token, op LIMIT :limit"""


def clear_follow_up(_: Dialect) -> str:
    """Return the statement that takes a note away."""
    return f"""DELETE FROM {FOLLOW_UPS} WHERE source_identifier = :source AND source_partition_key = :key
        AND token = :token AND op = :op RETURNING 1"""


def forget_follow_up(dialect: Dialect) -> StepText:
    """Return the statement that takes a note away undone, as a step beside which that is audited."""
    return StepText(clear_follow_up(dialect), "", dict)


def list_history(_: Dialect, *, one_key: bool) -> str:
    """Return the statement that lists ended tenures, the newest first, of one partition or of a source."""
    wanted, order = ("AND source_partition_key = :key", "token DESC, nonce") if one_key else ("", "ended_at DESC")
    return f"""SELECT {TENURE} FROM {HISTORY} WHERE source_identifier = :source {wanted}
        ORDER BY {order} LIMIT :limit"""


def thin_history(dialect: Dialect) -> str:
    """Return the statement that removes the oldest rows of a source's history that are too old."""
    place = "ctid" if dialect.locks else "rowid"
    old = f"""SELECT {place} FROM {HISTORY} WHERE source_identifier = :source AND ended_at < {dialect.now} - :kept
        ORDER BY ended_at LIMIT :limit"""
    which = f"= ANY (ARRAY({old}))" if dialect.locks else f"IN ({old})"
    return f"DELETE FROM {HISTORY} WHERE {place} {which} RETURNING 1"
