"""All expressions of one request, compiled once for each text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from tests.simulation.dynamodb.conditions import Condition, condition
from tests.simulation.dynamodb.items import Names, Values
from tests.simulation.dynamodb.key_conditions import KeyCondition, key_condition
from tests.simulation.dynamodb.rejections import invalid
from tests.simulation.dynamodb.updates import Update, update
from tests.simulation.dynamodb.words import Words

T = TypeVar("T")


@dataclass(frozen=True)
class Expressions:
    """What a request says in expressions.

    :param condition: its condition or filter; nothing is always true.
    :param names: the placeholders of names in all of them.
    :param values: the placeholders of values in all of them, each with the types that it may have.
    """

    condition: Condition | None
    update: Update | None
    key: KeyCondition | None
    projection: tuple[str, ...] | None
    names: set[str]
    values: dict[str, tuple[str, ...]]

    def check(self, names: Names, values: Values) -> None:
        """Refuse a request that defines other placeholders than it uses, or values that can have no use there."""
        if names.keys() != self.names:
            raise invalid(f"ExpressionAttributeNames: unused or not defined: {set(names) ^ self.names}")
        if values.keys() != self.values.keys():
            raise invalid(f"ExpressionAttributeValues: unused or not defined: {values.keys() ^ self.values.keys()}")
        for name, types in self.values.items():
            if types and values[name].keys().isdisjoint(types):
                raise invalid(f"Incorrect operand type: {values[name]} for {name}")


@lru_cache(maxsize=10_000)
def compiled(
    test: str | None = None, change: str | None = None, key: str | None = None, attributes: str | None = None
) -> Expressions:
    """Return a request's expressions, ready to be used.

    :raises NotImplementedError: for whatever the store does not use.
    """
    said = [Words(text or "") for text in (test, change, key, attributes)]
    return Expressions(
        _read(test, condition, said[0]),
        _read(change, update, said[1]),
        _read(key, key_condition, said[2]),
        _read(attributes, _projection, said[3]),
        {name for words in said for name in words.names},
        {value: types for words in said for value, types in words.values.items()},
    )


def _read(text: str | None, reader: Callable[[Words], T], words: Words) -> T | None:
    if text is None:
        return None
    found = reader(words)
    words.end()
    return found


def _projection(words: Words) -> tuple[str, ...]:
    found = [words.name()]
    while words.skip(","):
        found.append(words.name())
    return tuple(found)
