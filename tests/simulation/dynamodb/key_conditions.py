"""Key conditions of queries.

key condition = ["("] name = value [AND (name (< | <= | = | >= | >) value | name BETWEEN value AND value)] [")"]
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.simulation.dynamodb.items import Names, Values
from tests.simulation.dynamodb.rejections import invalid
from tests.simulation.dynamodb.words import Words


@dataclass(frozen=True)
class KeyCondition:
    """Which rows a query reads, in placeholders.

    :param hash: the name and the value of the first part of the key.
    :param range: the name of the second part, ``None`` when it may be anything.
    :param low: its lower bound, and whether that belongs to it.
    :param high: its upper bound, and whether that belongs to it.
    """

    hash: tuple[str, str]
    range: str | None = None
    low: tuple[str, bool] | None = None
    high: tuple[str, bool] | None = None

    def names(self, names: Names) -> list[str]:
        """Return the attributes it is about."""
        return [names[self.hash[0]]] + ([names[self.range]] if self.range is not None else [])

    def bounds(self, values: Values) -> Bounds:
        """Return the bounds in texts."""
        low = self.low and (_text(values, self.low[0]), self.low[1])
        high = self.high and (_text(values, self.high[0]), self.high[1])
        if low and high and low[0] > high[0]:
            raise invalid("The BETWEEN operator requires upper bound to be greater than or equal to lower bound")
        return Bounds(_text(values, self.hash[1]), low, high)


@dataclass(frozen=True)
class Bounds:
    """Which rows a query reads.

    :param hash: the first part of the key.
    :param low: lower bound of the second part, and whether that belongs to it.
    :param high: upper bound, and whether that belongs to it.
    """

    hash: str
    low: tuple[str, bool] | None
    high: tuple[str, bool] | None


def _text(values: Values, placeholder: str) -> str:
    value = values[placeholder]
    if "S" not in value:
        raise invalid(f"Condition parameter type does not match schema type: {value}")
    return str(value["S"])


def key_condition(words: Words) -> KeyCondition:
    """Read a key condition as far as it goes."""
    if words.skip("("):
        found = key_condition(words)
        words.take(")")
        return found
    first = words.name()
    words.take("=")
    whole = first, words.value()
    return _with_range(words, whole) if words.skip("AND") else KeyCondition(whole)


def _with_range(words: Words, whole: tuple[str, str]) -> KeyCondition:
    name = words.name()
    sign = words.take("=", "<", "<=", ">", ">=", "BETWEEN")
    low = high = words.value(), "=" in sign or sign == "BETWEEN"
    if sign == "BETWEEN":
        words.take("AND")
        high = words.value(), True
    return KeyCondition(whole, name, None if sign[0] == "<" else low, None if sign[0] == ">" else high)
