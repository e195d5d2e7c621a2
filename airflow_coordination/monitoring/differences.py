"""What two documents say otherwise, place by place: whole values are compared, and cut only where they are told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Final

from airflow_coordination.protocol.beside.documents import MAX_DOCUMENT_BYTES
from airflow_coordination.values.documents import parse
from airflow_coordination.values.input_errors import printable

LONGEST: Final = 300
"""Characters of a value that are told."""
NOTHING: Final = "nothing"
"""What is said of a value that is not there."""
_AROUND: Final = 40
"""Characters that are told of what is the same before two long values differ."""
_DEPTH: Final = 16
_PAIRS: Final = 20_000
"""So many equal elements of two lists, and twelve times as many of any, are looked through for what was moved."""
_CUT: Final = "…"
_SPECIAL: Final = frozenset('.[]"')
"""A name with one of these is told in quotes: ``{"a.b": 1}`` is another place than ``{"a": {"b": 1}}``."""


class _Absent:
    """Stands for a value that is not there: ``null`` is one that is."""


_ABSENT: Final = _Absent()
_Place = tuple[str | int, ...]
_Found = tuple[_Place, Any, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """What two versions say otherwise.

    :param key: where, such as ``[0].period``.
    :param old: what was said there, as JSON; ``None`` for nothing.
    :param new: what is said there now.
    """

    key: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        return f"{self.key} {self.old or NOTHING} → {self.new or NOTHING}".lstrip()


def differences(old: str | None, new: str, most: int) -> tuple[tuple[Difference, ...], int]:
    """Return the first of what two documents say otherwise, and how many there are beside these.

    :param old: JSON; ``None`` where there was no document.
    :param new: JSON.
    :raises ValueError: when one is none, or nested deeper than any document.
    """
    found = list(_between((), _ABSENT if old is None else _said(old), _said(new)))
    return tuple(_told(*each) for each in found[:most]), max(0, len(found) - most)


def _said(content: str) -> Any:
    return parse(content, max_bytes=MAX_DOCUMENT_BYTES, max_depth=_DEPTH)


def _text(said: Any) -> str:
    """Return a value as JSON that is the same for equal values only: 1, 1.0 and true are three."""
    return json.dumps(said, ensure_ascii=False, sort_keys=True)


def _between(place: _Place, old: Any, new: Any) -> Iterator[_Found]:
    kind = next((kind for kind in (Mapping, list) if _are(kind, old, new)), None)
    if kind is Mapping:
        before, after = ({} if each is _ABSENT else each for each in (old, new))
        for key in dict.fromkeys((*before, *after)):
            yield from _between((*place, key), before.get(key, _ABSENT), after.get(key, _ABSENT))
    elif kind is list:
        yield from _elements(place, *([] if each is _ABSENT else each for each in (old, new)))
    elif old is _ABSENT or new is _ABSENT or _text(old) != _text(new):
        yield place, old, new


def _are(kind: type, old: Any, new: Any) -> bool:
    """Return whether both are such, or one is, with something in it, where nothing was or is."""
    if isinstance(old, kind) and isinstance(new, kind):
        return True
    return any(one is _ABSENT and isinstance(other, kind) and bool(other) for one, other in ((old, new), (new, old)))


def _elements(place: _Place, old: list[Any], new: list[Any]) -> Iterator[_Found]:
    """Yield what two lists say otherwise: what was put in or taken out moves the others, and changes none of them."""
    for first, end, to_first, to_end in _changed(list(map(_text, old)), list(map(_text, new))):
        one, other = old[first:end], new[to_first:to_end]
        for number, (before, after) in enumerate(zip_longest(one, other, fillvalue=_ABSENT)):
            if before is _ABSENT:
                yield (*place, to_first + number), _ABSENT, after
            elif after is _ABSENT:
                yield (*place, first + number), before, _ABSENT
            else:
                yield from _between((*place, to_first + number), before, after)


def _changed(old: list[str], new: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield from where to where two lists differ; where that costs too much to find, all but what both begin with."""
    begin = _alike(old, new)
    end = _alike(old[begin:][::-1], new[begin:][::-1])
    one, other = old[begin : len(old) - end], new[begin : len(new) - end]
    counted, among = Counter(one), Counter(other)
    equal = sum(number * among[text] for text, number in counted.items())
    if equal > _PAIRS or len(one) * len(other) > 12 * _PAIRS:
        yield begin, len(old) - end, begin, len(new) - end
        return
    for kind, *bounds in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind != "equal":
            first, last, to_first, to_last = (begin + each for each in bounds)
            yield first, last, to_first, to_last


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how long what both begin with is."""
    differ = (number for number, (each, beside) in enumerate(zip(one, other, strict=False)) if each != beside)
    return next(differ, min(len(one), len(other)))


def _told(place: _Place, old: Any, new: Any) -> Difference:
    before, after = (None if each is _ABSENT else json.dumps(each, ensure_ascii=False) for each in (old, new))
    same = _alike(before or "", after or "")
    told = (None if each is None else _short(each, same) for each in (before, after))
    return Difference(_short(_named(place), 0), *told)


def _named(place: _Place) -> str:
    """Return a place as text, no two alike."""
    words = (
        f"[{each}]" if isinstance(each, int) else f"[{_text(each)}]" if not each or _SPECIAL & {*each} else f".{each}"
        for each in place
    )
    return "".join(words).removeprefix(".")


def _short(text: str, same: int) -> str:
    """Return a text as one line, cut where it is long, with the characters from which on it differs in what is left."""
    shown = printable(text, len(text) * len(r"\U0001ffff"))
    if len(shown) <= LONGEST:
        return shown
    begin = len(printable(text[:same], len(shown)))
    begin = max(0, min(begin - _AROUND, len(shown) - LONGEST + 1))
    start, rest = _CUT if begin else "", shown[begin:]
    return f"{start}{rest}" if len(rest) < LONGEST else f"{start}{rest[: LONGEST - 2]}{_CUT}"
