"""Update and condition expressions, from plain names and values, and from the words of the operation table.

Conditions are boto3's own (:class:`boto3.dynamodb.conditions.Attr`); what it has no builder for is the update.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from operator import and_, or_
from types import SimpleNamespace
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, ConditionBase, ConditionExpressionBuilder, Not

from airflow_coordination.protocol.algebra import Condition, Plain, Value, ring_entry
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.items import VERSION, typed, whole_item
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.status import PartitionStatus


@dataclass(frozen=True, slots=True)
class Path:
    """The value that another attribute of the item has."""

    name: str


@dataclass(frozen=True, slots=True)
class Sum:
    """The value of one number attribute plus another's, or plus a constant."""

    name: str
    other: Path | int


class Expression:
    """Collects one request's placeholders."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, Any] = {}
        self._conditions = ConditionExpressionBuilder()

    def name(self, name: str) -> str:
        """Return the placeholder of an attribute; every name gets one, because some are reserved words."""
        placeholder = f"#u{len(self._names)}"
        self._names[placeholder] = name
        return placeholder

    def operand(self, value: Any) -> str:
        """Return a value, a path or a sum as the expression says it."""
        if isinstance(value, Path):
            return self.name(value.name)
        if isinstance(value, Sum):
            return f"{self.name(value.name)} + {self.operand(value.other)}"
        placeholder = f":u{len(self._values)}"
        self._values[placeholder] = value
        return placeholder

    def condition(self, condition: ConditionBase, *, is_key: bool = False) -> str:
        """Return the text of one of boto3's conditions."""
        built = self._conditions.build_expression(condition, is_key_condition=is_key)
        self._names |= built.attribute_name_placeholders
        self._values |= built.attribute_value_placeholders
        return str(built.condition_expression)

    def arguments(self) -> dict[str, Any]:
        """Return the placeholders as a request's arguments."""
        arguments: dict[str, Any] = {"ExpressionAttributeNames": self._names} if self._names else {}
        if self._values:
            arguments["ExpressionAttributeValues"] = typed(self._values)
        return arguments


def put(item: Mapping[str, Any], condition: ConditionBase) -> dict[str, Any]:
    """Return the arguments of a conditional put."""
    expression = Expression()
    text = expression.condition(condition)
    return {"Item": whole_item(item), "ConditionExpression": text, **expression.arguments()}


def delete(key: Mapping[str, Any], condition: ConditionBase) -> dict[str, Any]:
    """Return the arguments of a conditional deletion."""
    expression = Expression()
    text = expression.condition(condition)
    return {"Key": typed(key), "ConditionExpression": text, **expression.arguments()}


def query(key: ConditionBase, attributes: Sequence[str] = (), kept: ConditionBase | None = None) -> dict[str, Any]:
    """Return the arguments of a query.

    :param attributes: what to return; everything when empty.
    :param kept: what the engine leaves out is read all the same.
    """
    expression = Expression()
    arguments = {"KeyConditionExpression": expression.condition(key, is_key=True)}
    if kept is not None:
        arguments["FilterExpression"] = expression.condition(kept)
    if attributes:
        arguments["ProjectionExpression"] = ", ".join(expression.name(name) for name in attributes)
    return {**arguments, **expression.arguments()}


def update(key: Mapping[str, Any], sets: Mapping[str, Any], condition: ConditionBase) -> dict[str, Any]:
    """Return the arguments of a conditional update; a value of ``None`` removes the attribute.

    ``version`` grows by one, so that an optimistic write of Data Prepper's, if one runs after all, is refused.
    """
    expression = Expression()
    gone = [name for name, value in sets.items() if value is None]
    assigned = [
        f"{expression.name(name)} = {expression.operand(value)}" for name, value in sets.items() if value is not None
    ]
    text = f"SET {', '.join(assigned)} " if assigned else ""
    text += f"ADD {expression.name(VERSION)} {expression.operand(1)}"
    if gone:
        text += f" REMOVE {', '.join(expression.name(name) for name in gone)}"
    text_of_condition = expression.condition(condition)
    return {
        "Key": typed(key),
        "UpdateExpression": text,
        "ConditionExpression": text_of_condition,
        **expression.arguments(),
    }


_FIELD_OF: Final = {it.attribute_of(field.name): field.name for field in it.KEPT_FIELDS if field.name not in it.PLACED}
_PATHS: Final = {field: Path(attribute) for attribute, field in _FIELD_OF.items()} | {"owner_try": Path(it.TRY)}


def partition(**known: Any) -> Any:
    """Return a partition of which a condition pins the fields that are given; the others are paths."""
    return SimpleNamespace(**{**_PATHS, **known})


@dataclass(frozen=True, slots=True)
class Unset:
    """Says that a flag is 0: what chooses between 0 and 1 by it is the flag itself."""

    flag: Path


class _Unknown(Enum):
    """What no update can compute, and none needs: a rule that asks for it is not for this view of a partition."""

    UNKNOWN = "unknown"


UNKNOWN: Final = _Unknown.UNKNOWN


class DynamoWords(Plain):
    """The words on what is known and on paths."""

    def same(self, one: Value, other: Value) -> Condition:
        """Return whether the two are equal."""
        return Attr(one.name).eq(_encoded(one, other)) if isinstance(one, Path) else one == other

    def less(self, one: Value, other: Value) -> Condition:
        """Return whether both are there, and ``one`` is smaller; only the second is another attribute's, if any."""
        return Attr(other.name).gt(_encoded(other, one)) if isinstance(other, Path) else super().less(one, other)

    def at_most(self, one: Value, other: Value) -> Condition:
        """Return whether ``one`` is there, and not greater."""
        if isinstance(one, Path):
            return Attr(one.name).lte(_encoded(one, other))
        return super().at_most(one, other)

    def without(self, value: Value) -> Condition:
        """Return whether a flag is not set."""
        return Unset(value) if isinstance(value, Path) else not value

    def both(self, *conditions: Condition) -> Condition:
        """Return whether all hold; what is known to hold is left out."""
        open_ones = [condition for condition in conditions if condition is not True]
        if any(condition is False for condition in open_ones):
            return False
        if len(open_ones) > 1 and any(isinstance(condition, Unset) for condition in open_ones):
            return UNKNOWN
        return reduce(and_, open_ones) if open_ones else True

    def either(self, *conditions: Condition) -> Condition:
        """Return whether any holds; what is known not to hold is left out."""
        open_ones = [condition for condition in conditions if condition is not False]
        if any(condition is True for condition in open_ones):
            return True
        return reduce(or_, open_ones) if open_ones else False

    def unless(self, condition: Condition) -> Condition:
        """Return whether a condition does not hold, as where it compares what is absent."""
        return not condition if isinstance(condition, bool) else Not(condition)

    def ready(self, partition: Any, now: Value) -> Condition:
        """Return whether it waits or is closed, and is due."""
        if partition.status is PartitionStatus.ASSIGNED:
            return False
        due = Attr(it.AVAILABLE).not_exists() | self.at_most(partition.available_at, now)
        waits = self.same(_STATUS, PartitionStatus.UNASSIGNED) & Attr(it.DELETED).not_exists() & due
        closed = self.same(_STATUS, PartitionStatus.CLOSED) & self.at_most(partition.reopen_at, now)
        return waits | closed

    def within(self, count: Value, limit: Value, own: Value) -> Condition:
        """Return whether one more is below the limit; what is stored of it is less one."""
        by_own = Attr(limit.name).not_exists() & Attr(count.name).lt(own - 1)
        return Attr(count.name).lt(Attr(limit.name)) | by_own

    def when(self, condition: Condition, then: Value, otherwise: Value) -> Value:
        """Return one of two values, if it is known which."""
        if isinstance(condition, bool):
            return then if condition else otherwise
        return condition.flag if isinstance(condition, Unset) and (then, otherwise) == (0, 1) else UNKNOWN

    def plus(self, one: Value, other: Value) -> Value:
        """Return the sum."""
        if isinstance(one, Path):
            return Sum(one.name, other) if other != 0 else one
        return super().plus(one, other)

    def later(self, one: Value, other: Value) -> Value:
        """Return the other one: that it is later is a condition of the update."""
        return other

    def sentence(self, form: str, number: Value) -> Value:
        """Return nothing: what is parked at its last lost lease was read before."""

    def entered(self, partition: Any, ending: tuple[Value, ...], when: Condition = True) -> it.Item:
        """Return the attribute of the ring that gets an ending."""
        return {slot(partition.token): ring_entry(ending)} if when else {}


_STATUS: Final = Path(it.STATUS)


def slot(token: int) -> str:
    """Return the ring's attribute for a tenure."""
    return it.RING[token % RING_SIZE]


def _encoded(path: Path, value: Value) -> Any:
    return it.encoded({_FIELD_OF[path.name]: value})[path.name] if path.name in _FIELD_OF else value
