"""Updates, made into functions of an item.

update = {SET path = operand ["+" operand], … | ADD path value, … | REMOVE path, …}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NoReturn

from tests.simulation.dynamodb.items import Attribute, Item, Names, Values, plus
from tests.simulation.dynamodb.rejections import invalid
from tests.simulation.dynamodb.words import Words

Operand = Callable[[Item, Names, Values], Attribute | None]
_ABSENT = "The provided expression refers to an attribute that does not exist in the item"
_WRONG_TYPE = "An operand in the update expression has an incorrect data type"


@dataclass(frozen=True)
class Update:
    """What an update expression does.

    :param assigned: placeholders of names, each with what gives its attribute.
    :param removed: placeholders of names.
    """

    assigned: tuple[tuple[str, Operand], ...]
    removed: tuple[str, ...]

    def paths(self, names: Names) -> list[str]:
        """Return the attributes that it changes."""
        return [names[name] for name, _ in self.assigned] + [names[name] for name in self.removed]

    def apply(self, item: Item, names: Names, values: Values) -> Item:
        """Return a new item; everything is computed from the old one."""
        after = dict(item)
        for name, given in self.assigned:
            value = given(item, names, values)
            if value is None:
                raise invalid(_ABSENT)
            after[names[name]] = value
        for name in self.removed:
            after.pop(names[name], None)
        return after


def update(words: Words) -> Update:
    """Read an update as far as it goes."""
    assigned: list[tuple[str, Operand]] = []
    removed: list[str] = []
    while words.next:
        clause = words.take("SET", "ADD", "REMOVE")
        for _ in _listed(words):
            if clause == "REMOVE":
                removed.append(words.name())
            else:
                assigned.append(_assignment(words) if clause == "SET" else _addition(words))
    return Update(tuple(assigned), tuple(removed))


def _listed(words: Words) -> Iterator[None]:
    yield
    while words.skip(","):
        yield


def _assignment(words: Words) -> tuple[str, Operand]:
    name = words.name()
    words.take("=")
    if not words.next.startswith("#"):
        return name, _operand(words)
    left = _operand(words)
    return name, _sum(left, _operand(words, "N"), _missing) if words.skip("+") else left


def _addition(words: Words) -> tuple[str, Operand]:
    """Read ``name value``: what is absent counts as nought."""
    name, value = words.name(), words.value("N")
    return name, _sum(lambda item, names, values: item.get(names[name]), lambda i, n, v: v[value], _nought)


def _operand(words: Words, *types: str) -> Operand:
    if words.next.startswith("#"):
        name = words.name()
        return lambda item, names, values: item.get(names[name])
    value = words.value(*types)
    return lambda item, names, values: values[value]


def _sum(left: Operand, right: Operand, absent: Callable[[], Attribute]) -> Operand:
    def total(item: Item, names: Names, values: Values) -> Attribute:
        one, other = left(item, names, values) or absent(), right(item, names, values) or _missing()
        if "N" not in one or "N" not in other:
            raise invalid(_WRONG_TYPE)
        return plus(one, other)

    return total


def _missing() -> NoReturn:
    raise invalid(_ABSENT)


def _nought() -> Attribute:
    return {"N": "0"}
