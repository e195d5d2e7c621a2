"""Which stretches of time readers find data of: what is there, what is hidden and by what, what a branch has in store.

Of a stretch nobody asks which partition is newer: tokens of two partitions say nothing of each other. It is there when
any head record that shows covers it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from airflow_coordination.planning.intervals import Interval, umbrella, united
from airflow_coordination.planning.timeline import Piece, timeline
from airflow_coordination.planning.view.showing import branch_of, hiding, interval_of_head
from airflow_coordination.planning.view.view import Hidden, View
from airflow_coordination.protocol.results import HeadRecord

_WHOLE: Final = 100.0
_NOTHING: Final = timedelta(0)


class SliceState(StrEnum):
    """What readers find in a stretch of time."""

    THERE = "there"
    HIDDEN = "hidden"
    PURGING = "purging"
    MISSING = "missing"
    IN_BRANCH = "in a branch"
    """Published in a branch that has begun, and nobody sees it yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A stretch of time with the same answer everywhere.

    :param interval: the stretch.
    :param state: the answer.
    :param partitions: how many have something in it.
    :param rows: of all of them.
    :param branch: the branch that they were published in, ``None`` for none.
    :param hidden: what hides it.
    """

    interval: Interval
    state: SliceState
    partitions: int = 0
    rows: int = 0
    branch: int | None = None
    hidden: Hidden | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """What there is of a dataset.

    :param slices: by time; those of different states may overlap, as partitions do.
    :param there: the stretches that readers find data of.
    :param timeless: how many partitions show of which nobody has said the interval: they are always visible.
    """

    slices: tuple[Slice, ...]
    there: tuple[Interval, ...]
    timeless: int = 0

    def missing(self, interval: Interval) -> list[Interval]:
        """Return where readers find nothing in an interval, the oldest first."""
        return _missing(self.there, interval)

    def percent(self, interval: Interval) -> float:
        """Return how much of an interval readers find data of, in percent of its time."""
        lacking = sum((each.end - each.start for each in self.missing(interval)), _NOTHING)
        return _WHOLE * (1 - lacking / (interval.end - interval.start))


_Kind = tuple[SliceState, int | None, Hidden | None]


def coverage(
    view: View, heads: Iterable[HeadRecord], begun: Iterable[HeadRecord] = (), within: Interval | None = None
) -> Coverage:
    """Return which stretches are there, hidden and missing.

    :param heads: of each partition the newest that counts, hidden or not.
    :param begun: what branches have published that show nowhere yet.
    :param within: only of this interval; all there is by default.
    """
    found: dict[_Kind, dict[Interval, list[int]]] = defaultdict(dict)
    timeless = 0
    for head in (each for each in heads if each.blocks):
        hidden, interval = hiding(view, head), interval_of_head(head)
        timeless += interval is None
        _add(found[_state(hidden), branch_of(head), hidden], interval, head)
    for head in (each for each in begun if each.blocks):
        _add(found[SliceState.IN_BRANCH, branch_of(head), None], interval_of_head(head), head)
    slices = [each for kind, intervals in found.items() for each in _stretches(kind, intervals, within)]
    there = united(each.interval for each in slices if each.state is SliceState.THERE)
    slices += _gaps(slices, within)
    slices.sort(key=lambda each: (each.interval, each.state, each.branch or 0))
    return Coverage(tuple(slices), tuple(there), timeless)


def _state(hidden: Hidden | None) -> SliceState:
    if hidden is None:
        return SliceState.THERE
    return SliceState.PURGING if hidden.purging else SliceState.HIDDEN


def _add(intervals: dict[Interval, list[int]], interval: Interval | None, head: HeadRecord) -> None:
    if interval is not None:
        counts = intervals.setdefault(interval, [0, 0])
        counts[0] += 1
        counts[1] += head.rows


def _stretches(kind: _Kind, intervals: dict[Interval, list[int]], within: Interval | None) -> Iterator[Slice]:
    """Yield the intervals of one kind, those that touch or overlap as one, cut to what was asked for."""
    state, branch, hidden = kind
    left = sorted((each for each in intervals if within is None or each.overlaps(within)), reverse=True)
    for stretch in united(left):
        partitions = rows = 0
        while left and stretch.contains(left[-1]):
            counts = intervals[left.pop()]
            partitions, rows = partitions + counts[0], rows + counts[1]
        cut = stretch if within is None else stretch.cut(within) or stretch
        yield Slice(interval=cut, state=state, partitions=partitions, rows=rows, branch=branch, hidden=hidden)


def _gaps(slices: list[Slice], within: Interval | None) -> list[Slice]:
    published = [each.interval for each in slices if each.state is not SliceState.IN_BRANCH]
    total = within or (umbrella(each.interval for each in slices) if slices else None)
    if total is None:
        return []
    return [Slice(interval=each, state=SliceState.MISSING) for each in _missing(published, total)]


def _missing(there: Iterable[Interval], interval: Interval) -> list[Interval]:
    return timeline(Piece(each, 0, each) for each in united(there)).missing(interval)
