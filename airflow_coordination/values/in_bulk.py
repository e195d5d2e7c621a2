"""Many values of one class at once, of columns: readers of a hundred thousand would wait for one after another."""

from __future__ import annotations

import gc
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import repeat
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass
class _Rest:
    """How many rest from the search at this moment, and whether it is theirs to begin again."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    depth: int = 0
    was_on: bool = False


_rest = _Rest()


@contextmanager
def unsearched() -> Iterator[None]:
    """Let Python not search for dead cycles while very many values come to be that all stay.

    The search begins anew whenever 700 more values are alive, and again among all of them when a quarter more are: half
    of the CPU of a plan of 100,000 head records, and nothing is found. What dies in cycles meanwhile, in other threads,
    too, is freed afterwards: for what takes a second or two. Who has turned the search off finds it off afterwards.
    """
    with _rest.lock:
        if _rest.depth == 0:
            _rest.was_on = gc.isenabled()
            gc.disable()
        _rest.depth += 1
    try:
        yield
    finally:
        with _rest.lock:
            _rest.depth -= 1
            if _rest.depth == 0 and _rest.was_on:
                gc.enable()


def made_of(kind: type[T], columns: Sequence[Sequence[Any]]) -> list[T]:
    """Return the values whose first fields stand in the first column, the second ones in the second, and so on.

    They are what ``kind(*row)`` is, but for what ``__post_init__`` would check. Column by column the loops are the
    interpreter's own, and take half of the time of a frozen class's ``__init__``.

    :param kind: a dataclass with slots, whatever its fields' defaults.
    :param columns: one for each of its fields, in their order and all of the same length.
    :raises ValueError: when they are of several lengths, or more or fewer than there are fields.
    """
    number = len(columns[0])
    if {*map(len, columns)} != {number}:
        raise ValueError(f"columns of {kind.__name__} are of several lengths")
    found = list(map(object.__new__, repeat(kind, number)))
    for each, column in zip(fields(kind), columns, strict=True):  # type: ignore[arg-type]
        deque(map(kind.__dict__[each.name].__set__, found, column), maxlen=0)
    return found
