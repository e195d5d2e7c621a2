"""Owners', people's and sweeps' writes: one conditional update each, and the records beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from airflow_coordination.protocol.fields import HEAD_FIELDS, HEAD_KEY, Kind
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.rules import (
    ACT,
    ADOPT,
    ASK,
    BEGIN,
    END,
    FOLLOWED,
    ON_PARKED,
    PLACE,
    RECLAIM,
    REFRESH,
    RENEW,
    REOPEN,
    SAVE,
)
from airflow_coordination.protocol.side_writes import (
    Audit,
    CountFailure,
    EmptyHeads,
    ForgetFailures,
    PutFollowUp,
    PutHeads,
    TenureEnded,
)
from airflow_coordination.protocol.writes import Action, Adopt, Ask, Begin, OnParked, Renew, Save, Sweep
from airflow_coordination.stores.sql.columns import (
    AUDIT,
    AUDITED_AS,
    FAILS,
    FOLLOW_UP,
    FOLLOW_UPS,
    GIVEN_OF_HEAD,
    HEAD,
    HEAD_KEY_COLUMNS,
    HEADS,
    HISTORY,
    PARTITION,
    PARTITIONS,
    PAUSE,
    SOURCES,
    TENURE,
    Ready,
    Timed,
    pause_and_failures,
)
from airflow_coordination.stores.sql.indexes import PARKED
from airflow_coordination.stores.sql.queue import not_used_up
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.step import (
    NOT_AWAITED,
    ONE,
    ROW,
    EndingWords,
    SqlWords,
    StepText,
    act_of,
    ending_of,
    life_of,
    step,
    symbols,
)
from airflow_coordination.values.failing import MARK_LENGTH, MOST_COUNTED

HELD: Final = f"{ROW.ownership_timeout}, CASE WHEN {ROW.wanted_token} = {ROW.token} THEN {ROW.wanted_by} END"
"""What an owner learns with each write that holds its lease on: until when, and who has asked for it."""

SOMETHING_FAILS: Final = f"EXISTS (SELECT 1 FROM {SOURCES} WHERE source_identifier = :source AND {FAILS})"
"""What a success learns with its ending on SQLite, so that it writes nothing more where nothing has failed."""


def adopt(dialect: Dialect) -> StepText:
    """Return the statement by which a later try of the task watches the tenure."""
    return step(SqlWords(dialect), ADOPT, symbols(Adopt), returning="1")


def renew(dialect: Dialect) -> StepText:
    """Return the statement that holds the lease on; no chain write."""
    return step(SqlWords(dialect), RENEW, symbols(Renew), returning=HELD)


def ask(dialect: Dialect) -> StepText:
    """Return the statement by which another worker asks for the lease; no chain write."""
    return step(SqlWords(dialect), ASK, symbols(Ask), returning="1")


def begin(dialect: Dialect) -> StepText:
    """Return the statement that is a driver's first write."""
    return step(SqlWords(dialect), BEGIN, symbols(Begin), returning=PARTITION)


def save(dialect: Dialect, *, accounted: bool = False) -> StepText:
    """Return the statement that stores progress and the blocks it stands for.

    :param accounted: with totals of the accounting.
    """
    write = symbols(Save) if accounted else symbols(Save, accounting=None)
    return step(SqlWords(dialect), SAVE, write, returning=HELD)


def on_parked(dialect: Dialect) -> StepText:
    """Return the statement that stores what is to follow when the partition is parked."""
    return step(SqlWords(dialect), ON_PARKED, symbols(OnParked), returning="1")


def end(
    dialect: Dialect,
    slot: int,
    *,
    keep_progress: bool,
    clear_staged: bool,
    accounted: bool = False,
    completes: bool = False,
    releases: bool = False,
) -> StepText:
    """Return the statement that ends a tenure.

    :param slot: the ring's slot of the tenure's token.
    :param accounted: with totals of the accounting.
    :param completes: with COMPLETED as the status after; then it is refused where somebody waits for the partition.
    :param releases: not refused there: the statement that releases who waits follows in the same transaction.
    """
    write = ending_of(completes=releases, keep_progress=keep_progress, clear_staged=clear_staged, accounted=accounted)
    found = f"{ONE} AND {NOT_AWAITED}" if completes and not releases else ONE
    returning = "source_partition_key" if dialect.locks else f"source_partition_key, {SOMETHING_FAILS}"
    return step(EndingWords(dialect, slot), END, write, found=found, returning=returning)


def act(dialect: Dialect, action: Action, *, held: bool, awaited: bool = False, releases: bool = False) -> StepText:
    """Return the statement of ``action`` on a partition that was seen ``held`` or not, ``awaited`` or not.

    :param releases: the statement that releases who waits for it follows in the same transaction.
    """
    found = f"{ONE} AND {NOT_AWAITED}" if action is Action.FINISH and not releases else ONE
    write = act_of(action, held=held, awaited=awaited)
    return step(SqlWords(dialect), ACT, write, found=found, returning=PARTITION)


def place(dialect: Dialect) -> StepText:
    """Return the statement that places one partition."""
    return step(SqlWords(dialect), PLACE, life_of(), returning="source_partition_key")


def refresh(dialect: Dialect, *, bare: bool) -> StepText:
    """Return the statement that gives a partition another payload.

    :param bare: it has none.
    """
    write = symbols(Refresh, seen=None) if bare else symbols(Refresh)
    return step(SqlWords(dialect), REFRESH, write, returning=PARTITION)


_AFTER_THE_STEP: Final = "AND EXISTS (SELECT 1 FROM done)"
"""Which also locks the partition before the source, always, so that no two of them wait for each other."""


def pause(dialect: Dialect) -> str:
    """Return the statement that reads a source's pause."""
    return f"SELECT {pause_and_failures(dialect.now)} FROM {SOURCES} WHERE source_identifier = :source"


def set_pause(dialect: Dialect) -> StepText:
    """Return the statement that pauses or resumes a source, if nobody has since ``seen_op``."""
    text = f"""INSERT INTO {SOURCES} (source_identifier, facts, updated_at, {PAUSE})
        VALUES (:source, '{{}}', {dialect.now}, CAST(:paused AS SMALLINT), :by, :why, {dialect.now}, :op,
            {dialect.now} + CAST(:lasts AS BIGINT), :op)
        ON CONFLICT (source_identifier) DO UPDATE SET {_taken(PAUSE)}
        WHERE coalesce({SOURCES}.pause_op, '') = :seen_op RETURNING {pause_and_failures(dialect.now)}"""
    return StepText(text, "", dict)


def count_failure(dialect: Dialect, *, inside: bool) -> str:
    """Return the statement that counts a partition more of one error; another error begins anew.

    Who waits for the row's lock judges by what he then finds there, so that no failure is lost beside others.
    """
    known = "failing_error = :failing_error AND failing_since_op = coalesce(pause_op, '')"
    more = f"""CASE WHEN length(failing_marks) < {MARK_LENGTH * MOST_COUNTED}
        THEN replace(failing_marks, :failing_mark, '') || :failing_mark ELSE failing_marks END"""
    return f"""UPDATE {SOURCES} SET failing_marks = CASE WHEN {known} THEN {more} ELSE :failing_mark END,
        failing_error = :failing_error, failing_since_op = coalesce(pause_op, '')
        WHERE source_identifier = :source {_AFTER_THE_STEP if inside else ""}"""


def forget_failures(dialect: Dialect, *, inside: bool) -> str:
    """Return the statement of a success: it finds nothing in the index of the failing, unless something has failed."""
    return f"""UPDATE {SOURCES} SET failing_error = NULL, failing_marks = NULL, failing_since_op = NULL
        WHERE source_identifier = :source AND {FAILS} {_AFTER_THE_STEP if inside else ""}"""


def _taken(columns: str) -> str:
    return ", ".join(f"{column} = excluded.{column}" for column in columns.split(", "))


_OF_THIS_LIFE: Final = "substr(on_parked, 1, length(generation) + 1) = generation || ' '"
"""What was said in another generation, as older code may have left it, does not follow."""

NOTES: Final = f"""SELECT source_identifier, source_partition_key, token, last_op AS op,
    substr(on_parked, length(generation) + 2) AS follow_up, updated_at AS noted_at FROM {PARTITIONS}
    WHERE {PARKED} AND on_parked IS NOT NULL AND {_OF_THIS_LIFE}"""
"""Selects the notes that are parked partitions, in the columns of those that lie beside endings."""


def followed(dialect: Dialect) -> StepText:
    """Return the statement that takes what was to follow out of a parked partition."""
    found = "source_identifier = :source AND source_partition_key = :key AND on_parked IS NOT NULL"
    return step(SqlWords(dialect), FOLLOWED, symbols(FollowUp), found=found, returning="1")


def found(dialect: Dialect, due: str) -> str:
    """Return a comparison with the keys of what is due and nobody else is changing, the longest due first."""
    query = f"""SELECT source_partition_key FROM {PARTITIONS} WHERE source_identifier = :source AND {due}
        {not_used_up(dialect)} ORDER BY due_at LIMIT :limit"""
    # As a join, PostgreSQL may run the query again for each row, and would lock further rows each time.
    return f"= ANY (ARRAY ({query} FOR UPDATE SKIP LOCKED))" if dialect.locks else f"IN ({query})"


def _due(dialect: Dialect, timed: Timed, also: str = "") -> str:
    """Return the comparison that finds, by the index, what is due; whether it is changed is the rule's to say."""
    due = f"timed = {timed:d} AND due_at <= {dialect.now} {also}"
    return f"source_identifier = :source AND source_partition_key {found(dialect, due)}"


def reclaim(dialect: Dialect) -> StepText:
    """Return the statement that ends expired leases; the last lost lease parks, otherwise the partition goes first."""
    expired = _due(dialect, Timed.HELD, f"AND partition_ownership_timeout <= {dialect.now}")
    return step(
        SqlWords(dialect),
        RECLAIM,
        symbols(Sweep),
        found=expired,
        returning="source_partition_key, source_partition_status",
    )


def reopen(dialect: Dialect) -> StepText:
    """Return the statement that reopens what is CLOSED until now."""
    return step(SqlWords(dialect), REOPEN, symbols(Sweep), found=_due(dialect, Timed.CLOSED), returning="1")


def promote(dialect: Dialect) -> str:
    """Return the statement that queues delayed partitions whose time has come; nothing else of them changes.

    As IS TRUE, the condition leaves the update to the primary key, and the index to the search.
    """
    due = f"timed = {Timed.DELAYED:d} AND due_at <= {dialect.now}"
    return f"""UPDATE {PARTITIONS} SET ready = {Ready.RETURNED:d}, position = ordinal, timed = NULL, due_at = NULL
        WHERE {_due(dialect, Timed.DELAYED)} AND ({due}) IS TRUE"""


_ARRAYS: Final = {Kind.TEXT: "TEXT[]", Kind.BLOCKS: "TEXT[]", Kind.NUMBER: "BIGINT[]", Kind.TIME: "BIGINT[]"}
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
        AND (CAST(:datasets AS TEXT) IS NULL OR {dialect.among("dataset", ":datasets")})
        {"AND EXISTS (SELECT 1 FROM done)" if inside else ""}"""


def _audit(dialect: Dialect, *, inside: bool) -> str:
    return f"""INSERT INTO {AUDIT} (source_identifier, source_partition_key, at, action, acted_by, why, op, batch)
        SELECT :source, :key, {dialect.now}, :action, :by, :why, :op, CAST(:batch AS TEXT)
        {"FROM done" if inside else ""}"""


def _put_follow_up(dialect: Dialect, *, inside: bool) -> str:
    return f"""INSERT INTO {FOLLOW_UPS} ({FOLLOW_UP})
        SELECT :source, :key, :token, :op, :follow_up, {dialect.now} {"FROM done" if inside else ""}"""


_STATEMENT_OF: Final[dict[type, _Statement]] = {
    PutHeads: _put_heads,
    EmptyHeads: _empty_heads,
    Audit: _audit,
    PutFollowUp: _put_follow_up,
    CountFailure: count_failure,
    ForgetFailures: forget_failures,
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
    return f"""SELECT {AUDITED_AS} FROM {AUDIT}
        WHERE source_identifier = :source AND source_partition_key = :key ORDER BY number"""


def list_audit_of_source(_: Dialect) -> str:
    """Return the statement that lists what people did to a source and all of its partitions, newest first.

    It names no source as equal: PostgreSQL would go through the lines of all sources by their numbers then.
    """
    return f"""SELECT {AUDITED_AS}, number FROM {AUDIT}
        WHERE (source_identifier, number) < (:source, :before) AND source_identifier >= :source
        ORDER BY source_identifier DESC, number DESC LIMIT :limit"""


def list_follow_ups(_: Dialect, *, one_key: bool, after: bool) -> str:
    """Return the statement that lists notes of what follows endings, of one partition or of a source."""
    wanted = "AND source_partition_key = :key" if one_key else ""
    behind = "AND (source_partition_key, token, {op}) > (:after_key, :after_token, :after_op)" if after else ""
    of_source = f"source_identifier = :source {wanted}"
    return f"""SELECT {FOLLOW_UP} FROM (
        SELECT {FOLLOW_UP} FROM {FOLLOW_UPS} WHERE {of_source} {behind.format(op="op")}
        UNION ALL {NOTES} AND {of_source} {behind.format(op="last_op")}) AS notes
        ORDER BY source_partition_key, token, op LIMIT :limit"""


def clear_follow_up(_: Dialect) -> str:
    """Return the statement that takes a note away."""
    return f"""DELETE FROM {FOLLOW_UPS} WHERE source_identifier = :source AND source_partition_key = :key
        AND token = :token AND op = :op RETURNING 1"""


def set_interval(dialect: Dialect) -> StepText:
    """Return the statement that gives a head record an interval, if it is as it was seen."""
    same = "IS NOT DISTINCT FROM" if dialect.locks else "IS"
    text = f"""UPDATE {HEADS} SET interval_start = :start, interval_end = :end WHERE source_identifier = :source
        AND dataset = :dataset AND source_partition_key = :key AND op = :seen_op
        AND interval_start {same} CAST(:seen_start AS BIGINT) AND interval_end {same} CAST(:seen_end AS BIGINT)
        RETURNING 1"""
    return StepText(text, "", dict)


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
