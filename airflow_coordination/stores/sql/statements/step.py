"""From a rule of the operation table to the statement that carries it out on what is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from airflow_coordination.protocol.algebra import Changes, Condition, Rule, Value
from airflow_coordination.protocol.fields import TENURE_FIELDS
from airflow_coordination.stores.sql.columns import (
    HISTORY,
    PARTITIONS,
    PAUSED,
    SOURCES,
    TENURE_KEY_COLUMNS,
    Ready,
    Timed,
)
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.stores.sql.statements.symbols import PLACED, STATUS
from airflow_coordination.stores.sql.statements.words import ROW, Case, SqlWords, said
from airflow_coordination.stores.sql.waiting import waits
from airflow_coordination.values.accounting import BEGINNING
from airflow_coordination.values.status import PartitionStatus, Rank

NOT_PAUSED: Final = f"NOT EXISTS (SELECT 1 FROM {SOURCES} WHERE source_identifier = :source AND {PAUSED})"
"""Holds as the statement's snapshot sees it: what has begun before the pause was written may still be acquired."""
ONE: Final = "source_identifier = :source AND source_partition_key = :key"
"""Finds one partition."""

NOT_AWAITED: Final = f"{ROW.awaited_op} IS NULL"
"""Whether nobody waits for a partition: then it is completed by one statement, as if there were no children at all."""

_TOTALS: Final = f"""CASE WHEN substr(accounting, {len(BEGINNING) + 1}, length(generation) + 2) = generation || '",'
        THEN accounting END"""
"""The totals of a partition, unless they are of another generation; read as no JSON, which may be corrupt."""

_TIME_OF: Final = {
    Timed.HELD: "ownership_timeout",
    Timed.CLOSED: "reopen_at",
    Timed.DELAYED: "available_at",
}


class _Entry(SqlWords):
    """Words that note the entry which a rule makes for the ring of endings."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self.parts: tuple[Value, ...] = ()

    def entered(self, partition: Any, ending: tuple[Value, ...], when: Condition = True) -> dict[str, str]:
        """Note its parts."""
        self.parts = () if when is False else ending
        return {}


class StepText(str):
    """The statement of a step that knows what it writes into the history."""

    _guard: str
    _ended: Callable[[], Mapping[str, Value]]

    def __new__(cls, text: str, guard: str, ended: Callable[[], Mapping[str, Value]]) -> StepText:
        """Return the text.

        :param guard: finds the partitions, and says whether the step happens to them.
        :param ended: makes the columns of a history's row, in the words of the partition before the step.
        """
        made = super().__new__(cls, text)
        made._guard, made._ended = guard, ended
        return made

    def history(self, found: str | None = None) -> str:
        """Return the statement that writes a row for each tenure that the step ends.

        It reads the partitions as they are **before** the step: on PostgreSQL as a part of the same statement, which
        sees nothing of what its other parts do, on SQLite before the step in its transaction. A row that is there
        already was written by whoever ended that tenure.

        :param found: finds the partitions that the step has changed; by default those that it is going to change.
        """
        columns = self._ended()
        values = ", ".join(said(value) for value in columns.values())
        return f"""INSERT INTO {HISTORY} ({", ".join(columns)}) SELECT {values} FROM {PARTITIONS}
            WHERE {found or self._guard} AND {ROW.status} = {said(PartitionStatus.ASSIGNED)}
            ON CONFLICT ({", ".join(TENURE_KEY_COLUMNS)}) DO NOTHING"""


def step(words: SqlWords, rule: Rule, write: Any, *, returning: str, found: str = ONE, row: Any = ROW) -> StepText:
    """Return the statement of a rule.

    :param write: what stands for the write in it.
    :param returning: what it returns of each row that it has changed.
    :param found: finds the rows; that the rule allows the write on them is a condition of its own.
    :param row: what is known of them beforehand: nothing (``ROW``), or that nobody holds them (``FREE``).
    """
    changes = rule.changes(words, row, write, words.now)
    columns = {**dict(_fields(changes)), **_index(words, changes)}
    assigned = ", ".join(f"{column} = {said(value)}" for column, value in columns.items() if said(value) != column)
    guard = f"{found} AND {rule.condition(words, row, write, words.now)}"
    if rule.held_back:
        guard = f"{guard} AND {NOT_PAUSED}"
    text = f"UPDATE {PARTITIONS} SET {assigned} WHERE {guard} RETURNING {returning}"
    return StepText(text, guard, partial(_ended_tenure, words, rule, write, row))


def _ended_tenure(words: SqlWords, rule: Rule, write: Any, row: Any) -> Mapping[str, Value]:
    """Return the history's row of the tenure that a step ends: its rule's entry for the ring, and whose it was.

    It is empty for a step that ends none.
    """
    heard = _Entry(words.dialect)
    changes = rule.changes(heard, row, write, words.now)
    if not heard.parts:
        return {}
    token, nonce, outcome, op, _, status, closed_count, now = heard.parts
    values = {
        "token": token,
        "nonce": nonce,
        "owner": ROW.owner,
        "owner_details": ROW.owner_details,
        "acquired_at": ROW.acquired_at,
        "ended_at": now,
        "outcome": outcome,
        "op": op,
        "status_after": status,
        "closed_count": closed_count,
        "error": getattr(write, "error", None),
        "rows": getattr(write, "rows", 0),
        "bytes": getattr(write, "bytes", 0),
        "accounting_text": changes.get("accounting_text", _TOTALS),
    }
    return {field.column: values.get(field.name, field.column) for field in TENURE_FIELDS}


def _fields(changes: Changes) -> Iterator[tuple[str, Value]]:
    """Yield the columns of the fields that change; the owner's task and try have columns of their own."""
    for name, value in changes.items():
        if name == "ring":
            yield from value.items()
            continue
        yield getattr(ROW, name), value
        if name == "owner":
            yield "owner_task", value and f"{value}_task"
            yield "owner_try", value and f"{value}_try"


def _index(words: SqlWords, changes: Changes) -> Mapping[str, Value]:
    """Return the columns of the index, as they follow from the fields after the step."""
    status, timeout = changes.get("status"), changes.get("ownership_timeout")
    if "waits_for" in changes and status is None:  # a child is released: fresh ones below a mark are not looked for
        available = changes["available_at"]
        return {"ready": words.when(available.condition, Ready.RETURNED, "ready"), "position": "ordinal"}
    if status is None:  # the indexed time moves only when half of the lease is over
        moves = f"due_at < {words.now} + :half"
        return {"due_at": words.when(moves, timeout, "due_at")} if timeout else {}
    if status == STATUS:
        return {"ready": ":ready", "position": "ordinal", "timed": ":timed", "due_at": f"{words.now} + :due_delay"}
    if status == PLACED:  # nothing is due below the time up to which what was due is used up
        due = words.when(f"CAST(:due_at AS BIGINT) < {words.now}", words.now, "CAST(:due_at AS BIGINT)")
        place = "coalesce(CAST(:position AS BIGINT), ordinal)"
        return {"ready": ":ready", "position": place, "timed": ":timed", "due_at": due}
    for choice in (status, changes.get("available_at")):
        if isinstance(choice, Case):
            one, other = _index(words, _chosen(changes, choice, 0)), _index(words, _chosen(changes, choice, 1))
            both = {**one, **other}
            return {name: words.when(choice.condition, one.get(name, name), other.get(name, name)) for name in both}
    return _index_of(status, changes)


def _chosen(changes: Changes, choice: Case, which: int) -> Changes:
    """Return the changes on one side of a choice."""
    return {
        name: (value.then, value.otherwise)[which]
        if isinstance(value, Case) and value.condition == choice.condition
        else value
        for name, value in changes.items()
    }


def _index_of(status: PartitionStatus, changes: Changes) -> dict[str, Value]:
    rank, available = changes.get("rank", Rank.NEW), changes.get("available_at")
    ready, timed = waits(status, rank, at_once=available is not None, later=changes.get("reopen_at") is not None)
    due = None if timed is None else changes[_TIME_OF[timed]]
    place = {} if ready is None else {"position": "ordinal" if rank is Rank.NEW else available}
    return {"ready": ready, "timed": timed, "due_at": due, **place}
