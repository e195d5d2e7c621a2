"""The owner that a task instance is to the protocol."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from airflow_coordination.leases.fence import Owner

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context


def owner_of(context: Context) -> str:
    """Return ``hostname/dag/run/task/map index/try`` of the running task instance, as ``partitionOwner`` shows it."""
    ti = context["ti"]
    map_index = -1 if ti.map_index is None else ti.map_index
    return Owner.of_task(socket.gethostname(), ti.dag_id, ti.run_id, ti.task_id, map_index, ti.try_number).text
