"""What may be marked as unused, because what hides it is there for readers.

Source: Druid, ``MarkOvershadowedSegmentsAsUnused``.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from datetime import timedelta
from typing import Final

from airflow_coordination.planning.intervals import subtract
from airflow_coordination.planning.timeline import Piece, timeline
from airflow_coordination.values.times import needed

_WAIT: Final = timedelta(minutes=15)
"""How long somebody must have led before anything is marked (``millisToWaitBeforeDeleting``)."""


def overshadowed(
    pieces: Iterable[Piece], served: Collection[Hashable], leads_for: timedelta, wait: timedelta = _WAIT
) -> list[Piece]:
    """Return the pieces no part of which shows even if only what is served counts.

    :param served: names of the pieces that readers can have, and of those that need no copy.
    :param leads_for: for how long whoever asks has led.
    :param wait: how long somebody must have led; 15 minutes.
    :raises InvalidInputError: when a time is negative, or the pieces are no timeline.
    """
    if needed("leads_for", leads_for, zero=True) < needed("wait", wait, zero=True):
        return []
    row = list(pieces)
    hidden = timeline(row).overshadowed
    slices = timeline(one for one in row if one.name in served).slices
    return [
        piece
        for piece in hidden
        if not subtract(piece.interval, [s.interval for s in slices if _newer(s.version, piece)])
    ]


def _newer(version: int | str, piece: Piece) -> bool:
    return version > piece.version  # type: ignore[operator]  # a timeline has numbers only, or texts only
