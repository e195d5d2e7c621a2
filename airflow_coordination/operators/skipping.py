"""The cost of a skip: a sensor that says whether something is parked would be skipped, too, and must not be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from airflow_coordination.sensors.partitions import PartitionsSensor

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator

_RUN_AFTER_SKIPPED: Final = frozenset({"all_done", "always", "none_failed"})
"""The trigger rules with which a task runs though one before it was skipped."""


def silenced_by(task: BaseOperator) -> str | None:
    """Return the id of a sensor that Airflow would skip with ``task``, directly or through others; ``None`` if none.

    Airflow calls a run whose last task was skipped a success, whatever happened before.
    """
    return next((each.task_id for each in _skipped_with(task, set()) if _is_sensor(each)), None)


def _skipped_with(task: Any, seen: set[str]) -> Iterator[Any]:
    for each in task.downstream_list:
        if each.task_id not in seen and each.trigger_rule not in _RUN_AFTER_SKIPPED:
            seen.add(each.task_id)
            yield each
            yield from _skipped_with(each, seen)


def _is_sensor(task: Any) -> bool:
    return issubclass(task.operator_class if task.is_mapped else type(task), PartitionsSensor)
