"""Items as they are on the wire: attribute names to ``{"S": …}``, ``{"N": …}`` and what else the store keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any

from tests.simulation.dynamodb.rejections import invalid

Attribute = dict[str, Any]
Item = dict[str, Attribute]
Names = Mapping[str, str]
Values = Mapping[str, Attribute]

MAX_ITEM_BYTES = 400 * 1024
_NUMBERS = Context(prec=38, traps=[Inexact, InvalidOperation])


def canonical(value: Attribute) -> Attribute:
    """Return an attribute as the service keeps it: numbers in one form only."""
    if "S" in value:
        return value
    [(kind, data)] = value.items()
    if kind == "N":
        return value if _is_plain(data) else {"N": _number(data)}
    if kind in ("BOOL", "NULL"):
        return value
    if kind == "L":
        return {"L": [canonical(one) for one in data]}
    if kind == "M":
        return {"M": {name: canonical(one) for name, one in data.items()}}
    raise NotImplementedError(f"attributes of type {kind}")


def _is_plain(text: str) -> bool:
    """Return whether a number is whole, small, and written as the service writes it."""
    digits = text.removeprefix("-")
    return digits.isdigit() and len(digits) < 30 and (digits[0] != "0" or text == "0")


def _number(text: str) -> str:
    try:
        number = _NUMBERS.normalize(_NUMBERS.create_decimal(text))
    except (Inexact, InvalidOperation):
        raise invalid(f"Attempting to store more than 38 significant digits in a Number: {text}") from None
    return format(number, "f") if number else "0"


def plus(left: Attribute, right: Attribute) -> Attribute:
    """Return the sum of two canonical numbers."""
    if _is_plain(left["N"]) and _is_plain(right["N"]):
        return {"N": str(int(left["N"]) + int(right["N"]))}
    return {"N": _number(str(_NUMBERS.add(Decimal(left["N"]), Decimal(right["N"]))))}


def ordered(left: Attribute, right: Attribute, holds: Callable[[Any, Any], bool]) -> bool:
    """Return whether an order holds between two attributes; it never does between a text and a number.

    Texts are in the order of their UTF-8 bytes, which is that of their characters' numbers.
    """
    if "S" in left and "S" in right:
        return holds(left["S"], right["S"])
    if "N" in left and "N" in right:
        return holds(Decimal(left["N"]), Decimal(right["N"]))
    return False


def size_of(item: Item) -> int:
    """Return an item's bytes, as the service counts them."""
    total = 0
    for name, value in item.items():
        total += _bytes(name) + (_bytes(value["S"]) if "S" in value else _size(value))
    return total


def _size(value: Attribute) -> int:
    [(kind, data)] = value.items()
    if kind == "S":
        return _bytes(data)
    if kind == "N":
        return (len(data) - (data[0] == "-") + 1) // 2 + 1 + (data[0] == "-")
    if kind == "L":
        return 3 + sum(1 + _size(one) for one in data)
    if kind == "M":
        return 3 + sum(1 + _bytes(name) + _size(one) for name, one in data.items())
    return 1


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
