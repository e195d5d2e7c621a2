"""In which order a location does what it was asked for: room first, then the newest, moves last.

Source: Druid, ``SegmentHolder.COMPARE_ACTION_THEN_INTERVAL``.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from airflow_coordination.planning.intervals import Interval, newest_first


class Action(StrEnum):
    """What a location can be asked for, the most urgent first."""

    DROP = "DROP"
    LOAD = "LOAD"
    REPLICATE = "REPLICATE"
    MOVE_TO = "MOVE_TO"


_ORDER = {action: number for number, action in enumerate(Action)}


def in_order(asked: Iterable[tuple[Action, Interval]]) -> list[tuple[Action, Interval]]:
    """Return what was asked for in the order in which it is done."""
    return sorted(asked, key=lambda one: (_ORDER[one[0]], newest_first(one[1])))
