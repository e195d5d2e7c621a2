"""Which pieces show when versions of intervals overlap, which are hidden for good, and where nothing is.

For each instant the newest complete version shows. A version whose parts are not all there neither shows nor hides; an
older one that is partly covered shows where it is not. Source: Druid, ``VersionedIntervalTimeline``.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from airflow_coordination.planning.intervals import Interval, subtract
from airflow_coordination.values.input_errors import InvalidInputError

Version = int | str


@dataclass(frozen=True, slots=True)
class Piece:
    """What was published for an interval: one part of one version.

    :param interval: what it is for; not empty.
    :param version: the higher one is newer: numbers, or texts that sort as they are.
    :param name: what tells it from all others.
    :param part: its number among the parts of its version, from 0 on.
    :param parts: how many there are.
    :raises InvalidInputError: when the interval is empty, or the part is not one of so many.
    """

    interval: Interval
    version: Version
    name: Hashable
    part: int = 0
    parts: int = 1

    def __post_init__(self) -> None:
        if self.interval.is_empty:
            raise InvalidInputError(
                "piece.interval", str(self.interval), "is empty", "Give an interval with an end later"
            )
        if not 0 <= self.part < self.parts:
            remedy = (
                f"Number {self.parts} parts from 0 to {self.parts - 1}" if self.parts > 0 else "Give at least 1 part"
            )
            raise InvalidInputError("piece.part", self.part, f"is none of {self.parts} parts", remedy)


@dataclass(frozen=True, slots=True)
class Slice:
    """A stretch of time in which one version shows.

    :param interval: the stretch, as long as it is without another version in between.
    :param version: the version.
    :param pieces: its pieces, by part; their own interval may be longer.
    """

    interval: Interval
    version: Version
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """What shows, made by :func:`timeline`.

    :param slices: what shows, the oldest first; no two overlap.
    :param overshadowed: complete pieces no part of which shows, and incomplete ones that a newer version covers.
    """

    slices: tuple[Slice, ...]
    overshadowed: tuple[Piece, ...]

    def within(self, interval: Interval) -> tuple[Slice, ...]:
        """Return what shows in an interval, cut to it."""
        found = ((one, one.interval.cut(interval)) for one in self.slices)
        return tuple(Slice(part, one.version, one.pieces) for one, part in found if part)

    def missing(self, interval: Interval) -> list[Interval]:
        """Return where nothing shows in an interval."""
        return subtract(interval, (one.interval for one in self.slices))


@dataclass(slots=True)
class _Group:
    """The pieces of one version and interval; they show and hide together."""

    interval: Interval
    version: Version
    pieces: dict[int, Piece] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        return len(self.pieces) == next(iter(self.pieces.values())).parts

    @property
    def in_order(self) -> tuple[Piece, ...]:
        return tuple(self.pieces[part] for part in sorted(self.pieces))


def timeline(pieces: Iterable[Piece]) -> Timeline:
    """Return what shows of some pieces; their order is of no matter.

    :raises InvalidInputError: when intervals of one version overlap without being equal, parts of a version do not
        agree how many they are, one part is there twice, or versions do not sort.
    """
    groups = _grouped(pieces)
    _check_versions({group.version for group in groups})
    _check_overlaps(groups)
    whole = _on_top([group for group in groups if group.is_complete])
    return Timeline(tuple(Slice(at, one.version, one.in_order) for at, one in whole), tuple(_hidden(groups, whole)))


def _grouped(pieces: Iterable[Piece]) -> list[_Group]:
    found: dict[tuple[Interval, Version], _Group] = {}
    for piece in pieces:
        group = found.setdefault((piece.interval, piece.version), _Group(piece.interval, piece.version))
        other = next(iter(group.pieces.values()), piece)
        if other.parts != piece.parts:
            problem = f"is not the {other.parts} that version {piece.version!r} of {piece.interval} has"
            raise InvalidInputError("piece.parts", piece.parts, problem, "Say the same number in all of its parts")
        if (there := group.pieces.setdefault(piece.part, piece)) != piece:
            problem = f"is there twice for {piece.interval}, as {there.name!r} and {piece.name!r}"
            raise InvalidInputError("piece.part", piece.part, problem, "Publish another version to replace it")
    return list(found.values())


def _check_versions(versions: set[Version]) -> None:
    """Refuse what sorts otherwise than it reads: the text "10" comes before "9".

    :raises InvalidInputError: naming two of them.
    """
    numbers = [one for one in versions if isinstance(one, int)]
    digits = sorted(str(one) for one in versions if isinstance(one, str) and one.isdecimal())
    if numbers and len(numbers) < len(versions):
        text = next(one for one in versions if isinstance(one, str))
        problem = f"is a text, and {numbers[0]} is a number: they do not sort"
        raise InvalidInputError("piece.version", text, problem, "Give numbers only, or texts only")
    lengths = {len(one): one for one in digits}
    if len(lengths) > 1:
        short, long = lengths[min(lengths)], lengths[max(lengths)]
        problem = f"compares as a text with {short!r}, and 10 would be older than 9"
        raise InvalidInputError("piece.version", long, problem, "Give whole numbers, or texts of one length")


def _check_overlaps(groups: Sequence[_Group]) -> None:
    by_version: dict[Version, list[Interval]] = {}
    for group in groups:
        by_version.setdefault(group.version, []).append(group.interval)
    for version, intervals in by_version.items():
        for one, other in pairwise(sorted(intervals)):
            if one.overlaps(other):
                problem = f"overlaps {one} of the same version {version!r}"
                raise InvalidInputError("piece.interval", str(other), problem, "Publish it as a newer version")


def _on_top(groups: Sequence[_Group]) -> list[tuple[Interval, _Group]]:
    """Return the newest of all at each time: one pass over starts and ends, with what has begun in a heap."""
    ranks = {version: -number for number, version in enumerate(sorted({g.version for g in groups}))}
    waiting = sorted(range(len(groups)), key=lambda one: groups[one].interval.start, reverse=True)
    begun: list[tuple[int, int]] = []
    found: list[tuple[Interval, _Group]] = []
    for moment, until in pairwise(_moments(groups)):
        while waiting and groups[waiting[-1]].interval.start <= moment:
            number = waiting.pop()
            heapq.heappush(begun, (ranks[groups[number].version], number))
        while begun and groups[begun[0][1]].interval.end <= moment:
            heapq.heappop(begun)
        if begun:
            _add(groups[begun[0][1]], Interval(moment, until), found)
    return found


def _moments(groups: Sequence[_Group]) -> list[datetime]:
    return sorted({moment for group in groups for moment in (group.interval.start, group.interval.end)})


def _add(group: _Group, interval: Interval, found: list[tuple[Interval, _Group]]) -> None:
    """Add a stretch, or let the last one go on."""
    if found and found[-1][1] is group and found[-1][0].end == interval.start:
        interval = Interval(found.pop()[0].start, interval.end)
    found.append((interval, group))


def _hidden(groups: Sequence[_Group], whole: Sequence[tuple[Interval, _Group]]) -> Iterator[Piece]:
    """Yield what no part of shows; half an attempt is hidden by what is newer, whole or not."""
    shown = {id(group) for _, group in whole}
    on_top = {id(group) for _, group in _on_top(groups)}
    for group in groups:
        if id(group) not in (shown if group.is_complete else on_top):
            yield from group.pieces.values()
