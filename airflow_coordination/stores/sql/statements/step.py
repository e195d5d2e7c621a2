"""From a rule of the operation table to the statement that carries it out: its words and parameters in SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache, partial
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, Final

from airflow_coordination.protocol.algebra import Changes, Condition, Rule, Value
from airflow_coordination.protocol.fields import MOVED, PARTITION_FIELDS, TENURE_FIELDS, Kind
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.side_writes import CountFailure
from airflow_coordination.protocol.writes import (
    KEEP,
    Act,
    Action,
    End,
    Keep,
    OnParked,
    Place,
    Retake,
    Save,
    SetPause,
    Sweep,
    Tenancy,
)
from airflow_coordination.stores.sql.columns import (
    HISTORY,
    PARTITIONS,
    RING,
    SOURCES,
    TENURE_KEY_COLUMNS,
    Ready,
    Timed,
    in_force,
    waits,
)
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.values.accounting import BEGINNING
from airflow_coordination.values.blocks import dump_blocks
from airflow_coordination.values.fence import RING_SIZE, Fence, Owner
from airflow_coordination.values.status import Outcome, PartitionStatus, Rank
from airflow_coordination.values.times import to_micros

MICROSECOND: Final = timedelta(microseconds=1)

_PARTS: Final[Mapping[type, tuple[str, ...]]] = {
    Owner: ("text", "task", "try_number"),
    Partition: ("status", "token", "nonce", "last_op", "awaited_op"),
}
"""What is given of a value that has more: of a partition that a person saw, what their action is conditioned on."""
_FOR_RECORDS: Final = frozenset({"heads", "then", "keeps", "kept_accounting", "datasets"})
"""What a statement is not given: what is made of it is written beside, if anything."""
_FOR_THE_TEXT: Final = frozenset({"clear_staged", "completes", "delay", "new_first", "may_miss", "same_try"})
"""What it is not given because its text, or another parameter, says it."""
_CALLED: Final[Mapping[type, Mapping[str, str]]] = {
    Owner: {"text": "owner", "task": "owner_task", "try_number": "owner_try"},
    Tenancy: {"max_lost_leases": "max_lost"},
    Retake: {"last_op": "seen_op"},
    Save: {"progress_text": "progress"},
    OnParked: {"text": "on_parked"},
    Sweep: {"max_lost_leases": "max_lost"},
    Partition: {"last_op": "seen_op"},
    Refresh: {"payload_text": "payload", "seen": "seen_payload"},
    SetPause: {"seen": "seen_op"},
    FollowUp: {"text": "follow_up"},
    CountFailure: {"error": "failing_error", "mark": "failing_mark"},
}
"""Parameters that are called otherwise than the field which they give."""
_SPREAD: Final = {kind.__name__: kind for kind in (Fence, Owner, Tenancy, Partition, FollowUp)}
"""Values that are several parameters, by the annotation of their field."""
_GIVEN: Final[Mapping[type, Callable[[Any], Any]]] = {
    timedelta: lambda duration: duration // MICROSECOND,
    datetime: to_micros,
    tuple: lambda blocks: dump_blocks(blocks) if blocks else None,
    bool: int,
    Rank: int,
    Ready: int,
    Timed: int,
    Outcome: str,
    PartitionStatus: str,
    Action: str,
    Keep: lambda _: None,
}
"""How an engine is given a value of a type; of all others, as it is."""


@cache
def _spread(kind: type) -> Mapping[str, str | type]:
    """Return for each attribute of a write, a record or a value in them its parameter, or as what it is spread."""
    stated = {field.name: str(field.type) for field in fields(kind)}
    computed = [name for name, value in vars(kind).items() if isinstance(value, property)]
    called = _CALLED.get(kind, {})
    return {
        name: _SPREAD.get(stated.get(name, ""), called.get(name, name))
        for name in _PARTS.get(kind, (*stated, *computed))
        if name not in _FOR_RECORDS | _FOR_THE_TEXT
    }


def _paths(kind: type) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a write, and the way to the value of each."""
    for name, parameter in _spread(kind).items():
        if isinstance(parameter, str):
            yield parameter, name
        else:
            yield from ((inner, f"{name}.{path}") for inner, path in _paths(parameter))


@cache
def _read_by(kind: type) -> tuple[tuple[str, ...], Callable[[Any], Iterable[Any]]]:
    """Return the parameters of a write, and what reads their values: one call, because it stands before every step."""
    names, paths = zip(*_paths(kind), strict=True)
    read = attrgetter(*paths)
    return names, read if len(paths) > 1 else lambda write: (read(write),)


def parameters(write: Any) -> dict[str, Any]:
    """Return all that a write or a record gives to its statement, by the name of the parameter."""
    names, read = _read_by(write.__class__)
    return {name: given(value) for name, value in zip(names, read(write), strict=True)}


def given(value: Any) -> Any:
    """Return a value as an engine is given it."""
    as_given = _GIVEN.get(value.__class__)
    return value if as_given is None else as_given(value)


def symbols(kind: type, **known: Any) -> Any:
    """Return what stands for a write in its rule: for each attribute the parameter that gives it.

    :param known: attributes of which the statement is made for one value.
    """
    said = {
        name: f":{parameter}" if isinstance(parameter, str) else symbols(parameter)
        for name, parameter in _spread(kind).items()
    }
    return SimpleNamespace(**said | known)


STATUS: Final = symbols(End).status
"""The status after an ending; which columns of the index follow from it is in parameters, too."""
PLACED: Final = ":placed_status"
"""The status of a partition that comes from another store; its columns of the index are in parameters, too."""
MAX_LOST: Final = symbols(Tenancy).max_lost_leases


def ending_of(*, completes: bool, keep_progress: bool, clear_staged: bool, accounted: bool = False) -> Any:
    """Return what stands for an ending; why it failed, and what it published, is in the record of its tenure."""
    shape: dict[str, Any] = {"completes": completes, "clear_staged": clear_staged, "error": ":error"}
    shape |= {"progress": KEEP} if keep_progress else {}
    shape |= {} if accounted else {"accounting": None}
    return symbols(End, **shape)


def act_of(action: Action, *, held: bool, awaited: bool = False) -> Any:
    """Return what stands for a person's action on what was seen ``held`` or not, ``awaited`` by children or not."""
    seen = symbols(Partition, **({"status": PartitionStatus.ASSIGNED} if held else {}))
    if not awaited:
        seen.awaited_op = None
    return symbols(Act, action=action, seen=seen)


def life_of() -> Any:
    """Return what stands for a partition that comes from another store."""
    return symbols(Place, life=SimpleNamespace(**{name: f":{name}" for name in MOVED} | {"status": PLACED}))


ROW: Final = SimpleNamespace(
    **{field.name: field.column for field in PARTITION_FIELDS}, owner_task="owner_task", owner_try="owner_try"
)
"""The partition as it is stored: its fields are columns."""
FREE: Final = SimpleNamespace(**{**vars(ROW), "status": PartitionStatus.UNASSIGNED})
"""A partition that waits or is closed, which the statement has to ask for: no tenure of it would be ended."""
_FLAGS: Final = frozenset(field.column for field in PARTITION_FIELDS if field.kind is Kind.FLAG)


def said(value: Value) -> str:
    """Return a value as SQL says it."""
    if isinstance(value, StrEnum):
        return f"'{value}'"
    if isinstance(value, int):
        return f"{value:d}"
    return str(value) if value else "NULL"


class Case(str):
    """The text of a choice that knows between what it chooses."""

    condition: str
    then: Value
    otherwise: Value

    def __new__(cls, condition: str, then: Value, otherwise: Value) -> Case:
        """Return the text."""
        text = super().__new__(cls, f"CASE WHEN {condition} THEN {said(then)} ELSE {said(otherwise)} END")
        text.condition, text.then, text.otherwise = condition, then, otherwise
        return text


class SqlWords:
    """The words in what SQLite and PostgreSQL share.

    :param dialect: says the clock.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect, self.now = dialect, dialect.now

    def same(self, one: Value, other: Value) -> Condition:
        """Return whether the two are equal, which two plain statuses show at once."""
        if isinstance(one, PartitionStatus) and isinstance(other, PartitionStatus):
            return one is other
        return f"{said(one)} = {said(other)}"

    def less(self, one: Value, other: Value) -> str:
        """Return whether ``one`` is smaller."""
        return f"{said(one)} < {said(other)}"

    def at_most(self, one: Value, other: Value) -> str:
        """Return whether ``one`` is not greater."""
        return f"{said(one)} <= {said(other)}"

    def without(self, value: Value) -> str:
        """Return whether a flag is not set, or a text not there."""
        return f"{value} = 0" if value in _FLAGS else f"{value} IS NULL"

    def both(self, *conditions: Condition) -> Condition:
        """Return whether all hold."""
        return False if False in conditions else " AND ".join(conditions)

    def either(self, *conditions: Condition) -> Condition:
        """Return whether any holds."""
        return f"({' OR '.join(condition for condition in conditions if condition is not False)})"

    def unless(self, condition: Condition) -> str:
        """Return whether a condition does not hold, as where it compares what is absent."""
        return f"({condition}) IS NOT TRUE"

    def ready(self, partition: Any, now: Value) -> str:
        """Return whether it waits or is closed, and is due, by the columns of the index.

        An acquisition by query has looked for such a row and locked it; that it *is* claimable stands in its update all
        the same, so that a mistake in the search can leave a partition waiting, but never take a healthy lease.
        """
        return f"ready IS NOT NULL OR timed IN ({Timed.DELAYED:d}, {Timed.CLOSED:d}) AND due_at <= {now}"

    @staticmethod
    def within(count: Value, limit: Value, own: Value) -> str:
        """Return whether one more is below the limit."""
        return f"{count} + 1 < coalesce({limit}, {own})"

    def when(self, condition: Condition, then: Value, otherwise: Value) -> Value:
        """Return one of two values."""
        if condition is False:
            return otherwise
        return then if condition is True or said(then) == said(otherwise) else Case(condition, then, otherwise)

    def plus(self, one: Value, other: Value) -> Value:
        """Return the sum."""
        if one is None or other is None:
            return None
        return f"{said(one)} + {said(other)}" if other else one

    def later(self, one: Value, other: Value) -> Value:
        """Return the later of two times."""
        return Case(f"{one} > {other}", one, other)

    def sentence(self, form: str, number: Value) -> str:
        """Return ``form`` with a number in its braces."""
        before, after = form.split("{}")
        return f"'{before}' || ({number}) || '{after}'"

    def among(self, key: Value, keys: Value) -> str:
        """Return whether a list of keys has this one."""
        return self.dialect.among(key, keys)

    def lacking(self, keys: Value, key: Value) -> str:
        """Return a list of keys without one of them."""
        return self.dialect.lacking(keys, key)

    def entered(self, partition: Any, ending: tuple[Value, ...], when: Condition = True) -> dict[str, str]:
        """Return the ring's columns with an ending in the slot of the row's token."""
        if when is False:
            return {}
        entry = _joined(ending)
        also = "" if when is True else f"{when} AND "
        return {
            column: f"CASE WHEN {also}(token & {RING_SIZE - 1}) = {slot} THEN {entry} ELSE {column} END"
            for slot, column in enumerate(RING)
        }


class EndingWords(SqlWords):
    """The words of an ending whose fence is known: its slot of the ring, and all of its entry but the time.

    :param slot: the slot of the fence's token.
    """

    def __init__(self, dialect: Dialect, slot: int) -> None:
        super().__init__(dialect)
        self._slot = slot

    def entered(self, partition: Any, ending: tuple[Value, ...], when: Condition = True) -> dict[str, str]:
        """Return the one column."""
        return {RING[self._slot]: f":entry || {self.now}"}


def _joined(parts: tuple[Value, ...]) -> str:
    """Return the parts of an ending as one text with bars between them, neighbouring literals in one."""
    pieces: list[str] = []
    for part in parts:
        pieces += ["'|'"] if pieces else []
        pieces.append(said(part))
    return " || ".join(pieces).replace("'|' || '", "'|").replace("' || '|'", "|'")


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


def not_paused(now: str) -> str:
    """Return the condition that a source is not paused.

    It holds as the statement's snapshot sees it: what has begun before the pause was written may still be acquired.
    """
    return f"NOT EXISTS (SELECT 1 FROM {SOURCES} WHERE source_identifier = :source AND {in_force(now)})"


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
        guard = f"{guard} AND {not_paused(words.now)}"
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
