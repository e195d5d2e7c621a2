"""From a rule of the operation table to the statement that carries it out on what is found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from airflow_coordination.leases.algebra import Value
from airflow_coordination.leases.rules import Changes, Rule
from airflow_coordination.leases.status import PartitionStatus, Rank
from airflow_coordination.stores.sql.columns import PARTITIONS, Timed
from airflow_coordination.stores.sql.statements.symbols import STATUS
from airflow_coordination.stores.sql.statements.words import ROW, Case, SqlWords, said
from airflow_coordination.stores.sql.waiting import waits

ONE: Final = "source_identifier = :source AND source_partition_key = :key"
"""Finds one partition."""

_TIME_OF: Final = {
    Timed.HELD: "ownership_timeout",
    Timed.CLOSED: "reopen_at",
    Timed.DELAYED: "available_at",
}


def step(words: SqlWords, rule: Rule, write: Any, *, returning: str, found: str = ONE, row: Any = ROW) -> str:
    """Return the statement of a rule.

    :param write: what stands for the write in it.
    :param returning: what it returns of each row that it has changed.
    :param found: finds the rows; that the rule allows the write on them is a condition of its own.
    :param row: what is known of them beforehand: nothing (``ROW``), or that nobody holds them (``FREE``).
    """
    changes = rule.changes(words, row, write, words.now)
    columns = {**dict(_fields(changes)), **_index(words, changes)}
    assigned = ", ".join(f"{column} = {said(value)}" for column, value in columns.items() if said(value) != column)
    return f"""UPDATE {PARTITIONS} SET {assigned}
        WHERE {found} AND {rule.condition(words, row, write, words.now)} RETURNING {returning}"""


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
    if status is None:  # the indexed time moves only when half of the lease is over
        moves = f"due_at < {words.now} + :half"
        return {"due_at": words.when(moves, timeout, "due_at")} if timeout else {}
    if status == STATUS:
        return {"ready": ":ready", "position": "ordinal", "timed": ":timed", "due_at": f"{words.now} + :due_delay"}
    if isinstance(status, Case):
        one, other = _index(words, _chosen(changes, status, 0)), _index(words, _chosen(changes, status, 1))
        both = {**one, **other}
        return {name: words.when(status.condition, one.get(name, name), other.get(name, name)) for name in both}
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
