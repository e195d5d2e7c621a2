"""A source's partitions by ranges of their keys: where in the keys what is done, and what waits for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LOOKED_AT: Final = 500
"""The most that are delayed, are due, or whose lease may have ended that are told apart, of each so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRange:
    """Partitions whose keys follow each other in byte order, in the words of docs/reference/glossary.md, *Counts*.

    :param first: the first key that is there.
    :param last: the last one.
    """

    first: str
    last: str
    claimable: int = 0
    held: int = 0
    expired: int = 0
    delayed: int = 0
    blocked: int = 0
    parked: int = 0
    completed: int = 0


@dataclass(frozen=True, slots=True)
class KeyRanges:
    """All of a source's partitions but tombstones, in ranges of about as many each, in byte order of the keys.

    :param ranges: none for a source without partitions.
    :param whole: whether all that the clock decides about was looked at. Otherwise some that are delayed are counted as
        claimable, some whose lease has ended as held, or some that are due as delayed: no index knows them by key.
    """

    ranges: Sequence[KeyRange]
    whole: bool = True
