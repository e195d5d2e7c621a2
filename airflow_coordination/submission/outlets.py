"""The asset events of a task: the partitions it completed or closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

MOST_KEYS = 1_000
"""So many keys in one asset event; Airflow keeps it as one value in its database."""


def tell_outlets(context: Context, keys: Sequence[str]) -> None:
    """Let the asset events of this task carry the keys it completed or closed, as ``extra["partitions"]``.

    They stay plain events: consumers scheduled on the asset alone are not triggered by events with a partition.
    """
    for outlet in context["task"].outlets:
        extra = context["outlet_events"][outlet].extra
        extra["partitions"] = list(keys[:MOST_KEYS])
        if len(keys) > MOST_KEYS:
            extra["more_partitions"] = len(keys) - MOST_KEYS
