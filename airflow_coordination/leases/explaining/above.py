"""What stands above a partition that waits: its parents, and what these wait for themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from airflow_coordination.protocol.partition import Partition

MOST_ABOVE: Final = 20
"""So many partitions above one are read, its parents first."""


def above(partition: Partition, read: Callable[[str], Partition | None]) -> tuple[Partition, ...]:
    """Return what a partition waits for, and what that waits for itself, nearest first; at most ``MOST_ABOVE``.

    :param read: returns a partition by its key.
    """
    found: dict[str, Partition] = {}
    asked = list(partition.waits_for)
    for key in asked:
        if key in found or len(found) == MOST_ABOVE:
            continue
        seen = read(key)
        if seen is not None:
            found[key] = seen
            asked += seen.waits_for
    return tuple(found.values())
