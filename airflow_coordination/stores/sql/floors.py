"""Up to where a source's queue is used up: ranges of the index at whose beginning nothing waits any more.

Fresh partitions stand in the queue by priority, then by position, and a position is never given twice. So what is
used up is, for each priority, everything below a position: its floor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from airflow_coordination.stores.sql.arrays import of_numbers

LOWEST: Final = -(2**62)
_FIRST_PRIORITY: Final = -(2**31)
_LAST_PRIORITY: Final = 2**31 - 1
MOST_SPANS: Final = 32
"""How many ranges a statement is given at most; a source with more priorities in use has no floor for the others."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of priorities with one floor.

    :param first: its smallest priority.
    :param last: its greatest.
    :param low: no fresh partition of these priorities waits below this position.
    """

    first: int
    last: int
    low: int

    def at(self, priority: int, low: int) -> list[Span]:
        """Return the span with a floor of its own for one of its priorities."""
        parts = [
            Span(self.first, priority - 1, self.low),
            Span(priority, priority, max(self.low, low)),
            Span(priority + 1, self.last, self.low),
        ]
        return [part for part in parts if part.first <= part.last]


Spans = tuple[Span, ...]
EVERYTHING: Final[Spans] = (Span(_FIRST_PRIORITY, _LAST_PRIORITY, LOWEST),)


@dataclass(frozen=True, slots=True)
class Floors:
    """What of a source's queue is used up.

    :param fresh: of the fresh partitions; all priorities, in order.
    :param due: nothing that waits for a time waits for an earlier one, microseconds since 1970.
    """

    fresh: Spans = EVERYTHING
    due: int = LOWEST


NO_FLOORS: Final = Floors()


def apart(spans: Spans, priority: int, low: int = LOWEST) -> Spans:
    """Return ``spans`` with one of their own for ``priority``, its floor at ``low`` unless it is higher already."""
    found: list[Span] = []
    for span in spans:
        found += span.at(priority, low) if span.first <= priority <= span.last else [span]
    return tuple(found)


def narrowed(span: Span, first: tuple[int, int] | None, end: int) -> tuple[list[Span], list[Span]]:
    """Return what is known of ``span`` after a look, and what of it has still to be looked at.

    :param first: priority and position of the first partition that waits there, ``None`` when there is none.
    :param end: no partition that the look could not see will ever appear below this position.
    """
    if first is None:
        return [Span(span.first, span.last, max(span.low, end))], []
    priority, position = first
    known, rest = [Span(priority, priority, max(span.low, min(position, end)))], []
    if span.first < priority:
        known.append(Span(span.first, priority - 1, max(span.low, end)))
    if priority < span.last:
        rest.append(Span(priority + 1, span.last, span.low))
    return known, rest


def parameters(name: str, spans: Sequence[Span]) -> dict[str, str]:
    """Return ``spans`` as a statement takes them."""
    return {
        f"{name}_first": of_numbers(span.first for span in spans),
        f"{name}_last": of_numbers(span.last for span in spans),
        f"{name}_low": of_numbers(span.low for span in spans),
    }


def in_order(spans: Iterable[Span]) -> Spans:
    """Return ``spans`` by priority."""
    return tuple(sorted(spans))
