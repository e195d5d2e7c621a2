"""What Airflow shows and tells of the partitions a task worked on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
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


def show_partition(context: Context, text: str) -> None:
    """Label this mapped task instance with a partition's key, from now on.

    A ``map_index_template`` of the user's own goes before; it finds the key as ``partition``.
    """
    context["partition"] = text  # type: ignore[typeddict-unknown-key]
    ti = context["ti"]
    if context.get("map_index_template") or ti.map_index is None or ti.map_index < 0:
        return
    context["map_index_template"] = "{{ partition }}"
    with suppress(ImportError, AttributeError):  # inside Airflow; without it the label appears at the end
        from airflow.sdk.execution_time import task_runner
        from airflow.sdk.execution_time.comms import SetRenderedMapIndex

        ti.rendered_map_index = text
        task_runner.SUPERVISOR_COMMS.send(SetRenderedMapIndex(rendered_map_index=text))
