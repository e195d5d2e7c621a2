"""Conditions and filters, made into functions of an item whose numbers are in their canonical form.

condition = conjunction {OR conjunction}
conjunction = test {AND test}
test = NOT test | "(" condition ")" | function "(" name ["," value] ")" | name (= | <> | < | <= | > | >=) value
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tests.simulation.dynamodb.items import Item, Names, Values, ordered
from tests.simulation.dynamodb.words import Words

Condition = Callable[[Item, Names, Values], bool]
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def condition(words: Words) -> Condition:
    """Read a condition as far as it goes."""
    found = _conjunction(words)
    while words.skip("OR"):
        found = _either(found, _conjunction(words))
    return found


def _conjunction(words: Words) -> Condition:
    found = _test(words)
    while words.skip("AND"):
        found = _both(found, _test(words))
    return found


def _either(one: Condition, other: Condition) -> Condition:
    return lambda item, names, values: one(item, names, values) or other(item, names, values)


def _both(one: Condition, other: Condition) -> Condition:
    return lambda item, names, values: one(item, names, values) and other(item, names, values)


def _unless(one: Condition) -> Condition:
    return lambda item, names, values: not one(item, names, values)


def _test(words: Words) -> Condition:
    if words.skip("NOT"):
        return _unless(_test(words))
    if words.skip("("):
        found = condition(words)
        words.take(")")
        return found
    return _FUNCTIONS[_function(words)](words) if words.next[:1].isalpha() else _comparison(words)


def _function(words: Words) -> str:
    found = words.take(*_FUNCTIONS)
    words.take("(")
    return found


def _exists(words: Words) -> Condition:
    name = words.name()
    words.take(")")
    return lambda item, names, values: names[name] in item


def _not_exists(words: Words) -> Condition:
    name = words.name()
    words.take(")")
    return lambda item, names, values: names[name] not in item


def _type(words: Words) -> Condition:
    name = words.name()
    words.take(",")
    kind = words.value("S")
    words.take(")")
    return lambda item, names, values: values[kind]["S"] in item.get(names[name], ())


_FUNCTIONS: dict[str, Callable[[Words], Condition]] = {
    "attribute_exists": _exists,
    "attribute_not_exists": _not_exists,
    "attribute_type": _type,
}


def _comparison(words: Words) -> Condition:
    name = words.name()
    sign = words.take("=", "<>", *_ORDERS)
    if sign == "=":
        value = words.value()
        return lambda item, names, values: item.get(names[name]) == values[value]
    if sign == "<>":
        value = words.value()
        return lambda item, names, values: item.get(names[name]) != values[value]
    if words.next.startswith("#"):  # with another attribute; with one that is absent nothing compares
        other, holds = words.name(), _ORDERS[sign]
        return lambda item, names, values: ordered(item.get(names[name], {}), item.get(names[other], {}), holds)
    value, holds = words.value("S", "N"), _ORDERS[sign]
    return lambda item, names, values: ordered(item.get(names[name], {}), values[value], holds)
