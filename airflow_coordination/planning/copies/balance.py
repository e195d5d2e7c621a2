"""Moves from the most used location of a tier to the least used one, each of which makes them more alike.

Source: the seed's *Balancing segment load*. Druid's first balancer compared with the first difference instead of the
running one, and in a quiet cluster moved things to and fro (issue 3354).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from airflow_coordination.planning.copies.location import Copyable, Location, named
from airflow_coordination.values.input_errors import InvalidInputError

THRESHOLD: Final = 3
"""Percent of the higher utilisation, from which on two locations are not alike (``balance_threshold``)."""
MOST_MOVES: Final = 5
"""At most so many between two locations in one run (``maxSegmentsToMove``)."""


@dataclass(frozen=True, slots=True)
class Move:
    """A copy that goes elsewhere: made there first, then dropped here.

    :param copy: what.
    :param source: from where.
    :param target: to where.
    """

    copy: Copyable
    source: str
    target: str


def difference(one: Fraction, other: Fraction) -> Fraction:
    """Return how much two utilisations differ, in percent of the higher one; two that use nothing are alike."""
    high, low = max(one, other), min(one, other)
    return 100 * (high - low) / high if high else Fraction(0)


def moves(
    locations: Iterable[Location],
    sizes: Mapping[str, Sequence[Copyable]],
    seed: int,
    *,
    threshold: float = THRESHOLD,
    most: int = MOST_MOVES,
    pending: int = 0,
) -> list[Move]:
    """Return the moves of one run inside of one tier.

    Copies are tried in an order drawn by chance. A move is taken only if the difference is smaller after it than after
    all before it, and the least used location does not come to be the more used one.

    :param locations: those of one tier; draining and lost ones take no part.
    :param sizes: what each may give away, by the name of the location.
    :param seed: of the chance, so that a run can be told again.
    :param threshold: percent, see :data:`THRESHOLD`.
    :param most: the most moves.
    :param pending: moves of earlier runs that are not done; while there are any, nothing is moved.
    :raises InvalidInputError: when the threshold or a number is negative, locations are of two tiers, or two have one
        name.
    """
    there = [one for one in named(locations).values() if not one.draining and one.lost_since is None]
    _check(there, threshold, most, pending)
    if len(there) < 2 or pending:
        return []
    high = max(there, key=lambda one: (one.utilisation, one.name))
    low = min(there, key=lambda one: (one.utilisation, one.name))
    found: list[Move] = []
    row = list(sizes.get(high.name, ()))
    random.Random(seed).shuffle(row)
    for one in row:
        if len(found) >= most or difference(high.utilisation, low.utilisation) <= threshold:
            break
        if one.bytes < 1 or one.name not in high.holds or not low.takes(one):
            continue
        after = high.without_copy(one), low.with_copy(one)
        if after[1].utilisation <= after[0].utilisation:
            found.append(Move(one, high.name, low.name))
            high, low = after
    return found


def _check(there: Sequence[Location], threshold: float, most: int, pending: int) -> None:
    for name, value in (("balance_threshold", threshold), ("maxSegmentsToMove", most), ("pending", pending)):
        if not value >= 0:
            raise InvalidInputError(name, value, "is no number from 0 on", "Give 0 or more")
    if len(tiers := {one.tier for one in there}) > 1:
        raise InvalidInputError("locations", sorted(tiers), "are of several tiers", "Balance each tier by itself")
