"""The least and greatest values of a Parquet file's columns, from its footer: those that surely bound what Spark reads.

Only columns of whole numbers, texts, days and instants are taken, at the top of the schema, whose every row group says
``min_value`` and ``max_value`` in the order of its type (parquet-format, ``Statistics`` and ``ColumnOrder``). Both may
have been cut: they are bounds all the same, and need not be values. Of all else nothing is said, so the file is read:
floating point, whose NaN and zeros are in no such order; decimals; ``INT96``, unsigned numbers, times without a zone;
days and instants so old that Spark may read them by another calendar; what is null in a whole row group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.outputs.parquet import Compact, Element, FooterError, footer_bytes

WHOLE, TEXT, DAY, INSTANT = "whole", "text", "day", "instant"
KINDS: Final = (WHOLE, TEXT, DAY, INSTANT)
MAX_TEXT: Final = 200
"""Characters of a text; a longer one is not kept."""
_OLDEST_DAY: Final = -24_837
"""1902-01-01: before it Spark's calendars and local mean times may differ by who has written."""
_OLDEST: Final = {DAY: _OLDEST_DAY, INSTANT: _OLDEST_DAY * 86_400_000_000}
_ELEMENTS, _ROW_GROUPS, _ORDERS = 2, 4, 7
_COLUMNS, _ROWS, _META, _PATH, _STATISTICS, _MAX_VALUE, _MIN_VALUE = 1, 3, 3, 3, 12, 5, 6
_TYPE, _REPETITION, _NAME, _CHILDREN, _CONVERTED, _LOGICAL = 1, 3, 4, 5, 6, 10
_INT32, _INT64, _BYTES = 1, 2, 6
_REPEATED: Final = 2
_LOGICAL_TEXT, _LOGICAL_DAY, _LOGICAL_INSTANT, _LOGICAL_WHOLE = 1, 6, 8, 10
_CONVERTED_KINDS: Final = {0: (TEXT, 1), 6: (DAY, 1), 9: (INSTANT, 1000), 10: (INSTANT, 1)} | dict.fromkeys(
    (15, 16, 17, 18), (WHOLE, 1)
)
_UNITS: Final = {1: 1000, 2: 1}
_PHYSICAL: Final = {WHOLE: (_INT32, _INT64), TEXT: (_BYTES,), DAY: (_INT32,), INSTANT: (_INT64,)}
_LENGTHS: Final = {_INT32: 4, _INT64: 8}


@dataclass(frozen=True, slots=True)
class Extremes:
    """Bounds of what a column of a file holds beside nulls.

    :param kind: of its values.
    :param least: a whole number, a text, days since 1970 or microseconds since then; no value is less.
    :param greatest: the same; no value is greater.
    """

    kind: str
    least: Any
    greatest: Any

    @classmethod
    def parsed(cls, said: object) -> Extremes | None:
        """Return what :meth:`said` has made a list of; ``None`` for anything else."""
        if not isinstance(said, list) or len(said) != 3 or said[0] not in KINDS:
            return None
        kind, least, greatest = said
        wanted = str if kind == TEXT else int
        if type(least) is not wanted or type(greatest) is not wanted or least > greatest:
            return None
        return cls(kind, least, greatest)

    def said(self) -> list[Any]:
        """Return it as JSON has it."""
        return [self.kind, self.least, self.greatest]


def read_extremes(address: str, size: int) -> dict[str, Extremes]:
    """Return the extremes of a Parquet file's columns, those that are known.

    :param size: of the file, in bytes.
    :raises FileNotFoundError: when there is no such file.
    :raises OutputError: when the storage cannot be asked.
    """
    try:
        content = footer_bytes(address, size)
    except FooterError:
        return {}
    try:
        return extremes_in(Compact(content).struct())
    except Exception:  # whatever is written there instead of a footer
        return {}


def extremes_in(footer: Mapping[int, Any]) -> dict[str, Extremes]:
    """Return the extremes of the columns of a footer, those that are known."""
    leaves = list(_leaves(footer[_ELEMENTS]))
    orders = footer.get(_ORDERS, ())
    groups = [group for group in footer.get(_ROW_GROUPS, ()) if group[_ROWS]]
    if not groups or len(orders) != len(leaves):
        return {}
    names = Counter(leaf[_NAME].decode().lower() for leaf in leaves if leaf is not None)
    found = {}
    for leaf, order in zip(leaves, orders, strict=True):
        if leaf is None or 1 not in order or names[leaf[_NAME].decode().lower()] > 1:
            continue
        extremes = _extremes(leaf, groups)
        if extremes is not None:
            found[leaf[_NAME].decode()] = extremes
    return found


def _leaves(elements: Sequence[Element]) -> Iterator[Element | None]:
    """Yield the columns in their order, ``None`` for one that is inside another, or repeated."""
    rest = iter(elements)
    next(rest)

    def inside(element: Element) -> Iterator[None]:
        for _ in range(element[_CHILDREN]):
            child = next(rest)
            yield from inside(child) if child.get(_CHILDREN) else (None,)

    for element in rest:
        if element.get(_CHILDREN):
            yield from inside(element)
        else:
            yield None if element.get(_REPETITION) == _REPEATED else element


def _extremes(leaf: Element, groups: Sequence[Mapping[int, Any]]) -> Extremes | None:
    kind, unit = _kind(leaf)
    if leaf[_TYPE] not in _PHYSICAL.get(kind, ()):
        return None
    value = _reader(kind, leaf[_TYPE], unit)
    bounds = [_bounds(group, leaf[_NAME], value) for group in groups]
    known = [each for each in bounds if each is not None]
    if len(known) < len(bounds):
        return None
    least, greatest = min(least for least, _ in known), max(greatest for _, greatest in known)
    too_old = kind in _OLDEST and least < _OLDEST[kind]
    return None if too_old or any(low > high for low, high in known) else Extremes(kind, least, greatest)


def _kind(leaf: Element) -> tuple[str, int]:
    """Return the kind of a column's values, and by what they are multiplied; an empty one where it is none of ours."""
    logical = leaf.get(_LOGICAL) or {}
    if not logical:
        converted = leaf.get(_CONVERTED)
        plain = (WHOLE, 1) if leaf[_TYPE] in _LENGTHS else ("", 1)
        return plain if converted is None else _CONVERTED_KINDS.get(converted, ("", 1))
    [(number, facts)] = logical.items()
    if number == _LOGICAL_INSTANT:
        [unit] = facts[2]
        return (INSTANT, _UNITS[unit]) if facts[1] and unit in _UNITS else ("", 1)
    if number == _LOGICAL_WHOLE:
        return (WHOLE, 1) if facts[2] else ("", 1)
    return {_LOGICAL_TEXT: TEXT, _LOGICAL_DAY: DAY}.get(number, ""), 1


def _reader(kind: str, physical: int, unit: int) -> Callable[[bytes], Any]:
    def number(content: bytes) -> int:
        if len(content) != _LENGTHS[physical]:
            raise ValueError("is no such number")
        return int.from_bytes(content, "little", signed=True) * unit

    def text(content: bytes) -> str:
        found = content.decode()
        if len(found) > MAX_TEXT:
            raise ValueError("is too long")
        return found

    return text if kind == TEXT else number


def _bounds(group: Mapping[int, Any], name: bytes, value: Callable[[bytes], Any]) -> tuple[Any, Any] | None:
    """Return the bounds of a column in a row group, ``None`` where it does not say both."""
    for chunk in group[_COLUMNS]:
        meta = chunk.get(_META) or {}
        if meta.get(_PATH) == [name]:
            said = meta.get(_STATISTICS) or {}
            try:
                return value(said[_MIN_VALUE]), value(said[_MAX_VALUE])
            except (KeyError, ValueError):
                return None
    return None
