"""The words of the operation table in SQL: each value and condition is a text.

What no text stands for is said as a literal: statuses, outcomes, ranks, numbers, flags; ``None`` and nothing as NULL.
"""

from __future__ import annotations

from enum import StrEnum
from types import SimpleNamespace
from typing import Any, Final

from airflow_coordination.protocol.algebra import Condition, Value
from airflow_coordination.protocol.fields import PARTITION_FIELDS, Kind
from airflow_coordination.stores.sql.columns import RING, Timed
from airflow_coordination.stores.sql.statements.dialect import Dialect
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.status import PartitionStatus

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
