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
    :param values: the placeholders of values in all of them.
    """

    condition: Condition | None
    update: Update | None
    key: KeyCondition | None
    projection: tuple[str, ...] | None
    names: frozenset[str]
    values: frozenset[str]

    def check(self, names: Names, values: Values) -> None:
        """Refuse a request that defines other placeholders than it uses."""
        if names.keys() != self.names:
            raise invalid(f"ExpressionAttributeNames: unused or not defined: {set(names) ^ self.names}")
        if values.keys() != self.values:
            raise invalid(f"ExpressionAttributeValues: unused or not defined: {set(values) ^ self.values}")


@lru_cache(maxsize=10_000)
def compiled(
    test: str | None = None, change: str | None = None, key: str | None = None, attributes: str | None = None
) -> Expressions:
    """Return a request's expressions, ready to be used.

    :raises NotImplementedError: for whatever the store does not use.
    """
    placeholders: set[str] = set()
    return Expressions(
        _read(test, condition, placeholders),
        _read(change, update, placeholders),
        _read(key, key_condition, placeholders),
        _read(attributes, _projection, placeholders),
        frozenset(placeholder for placeholder in placeholders if placeholder[0] == "#"),
        frozenset(placeholder for placeholder in placeholders if placeholder[0] == ":"),
    )


def _read(text: str | None, reader: Callable[[Words], T], placeholders: set[str]) -> T | None:
    if text is None:
        return None
    words = Words(text)
    found = reader(words)
    words.end()
    placeholders |= words.placeholders
    return found


def _projection(words: Words) -> tuple[str, ...]:
    found = [words.name()]
    while words.skip(","):
        found.append(words.name())
    return tuple(found)
