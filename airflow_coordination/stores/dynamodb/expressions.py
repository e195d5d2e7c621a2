"""Update and condition expressions, from plain names and values.

Conditions are boto3's own (:class:`boto3.dynamodb.conditions.Attr`); what it has no builder for is the update.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from boto3.dynamodb.conditions import ConditionBase, ConditionExpressionBuilder

from airflow_coordination.stores.dynamodb.items import VERSION, typed, whole_item


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
