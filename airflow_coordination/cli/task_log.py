"""The place of the log of the task that holds a partition, or held it last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlencode

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.fence import Owner

NEWEST: Final = 1_000
"""The most tenures of a source looked at for those who held partitions last."""


def task_log(context: CommandContext, owner: str | None) -> str | None:
    """Return the page of Airflow's UI that shows the log of the owner's very try.

    :param owner: as ``partitionOwner`` shows it; ``None`` is nobody.
    :return: ``None`` when the owner is no Airflow task, or ``[api] base_url`` does not say where the UI is.
    """
    base, task = context.airflow().base_url, Owner(owner).instance if owner else None
    if not base or task is None:
        return None
    mapped = ("mapped", task.map_index) if task.map_index.isdecimal() else ()
    parts = ("dags", task.dag, "runs", task.run, "tasks", task.task, *mapped)
    path = "/".join(quote(part, safe="") for part in parts)
    return f"{base.rstrip('/')}/{path}?{urlencode({'try_number': task.try_number})}"


def last_task_log(context: CommandContext, coordinator: SourceCoordinator, partition: Partition | None) -> str | None:
    """Return the log of the task that holds a partition or, where none does, held it last.

    Sends one request, and none where no answer could come of it: the store keeps no history, or no address is known.

    :param partition: as it was read; ``None`` where there is none.
    """
    if partition is None or not context.airflow().base_url:
        return None
    if partition.owner is not None:
        return task_log(context, partition.owner)
    past = coordinator.history(partition.key, 1) if parts_of(context.store).history is not None else ()
    return task_log(context, past[-1].owner) if past else None


def last_task_logs(
    context: CommandContext, coordinator: SourceCoordinator, partitions: Sequence[Partition]
) -> dict[str, str | None]:
    """Return by key the logs of the tasks that hold partitions or, of those that have failed, held them last.

    Sends one request at most, for the source's newest tenures: what failed before them has no log here.
    """
    if not context.airflow().base_url:
        return {}
    past: dict[str, str | None] = {}
    if parts_of(context.store).history is not None and any(one.failures and one.owner is None for one in partitions):
        for tenure in reversed(coordinator.looking.past_tenures(NEWEST)):
            past[tenure.key] = tenure.owner
    wanted = {one.key: one.owner or past.get(one.key) for one in partitions if one.owner or one.failures}
    return {key: task_log(context, owner) for key, owner in wanted.items()}
