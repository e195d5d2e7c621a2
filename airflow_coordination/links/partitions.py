"""The link from a task instance to its partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from airflow.configuration import conf
from airflow.providers.common.compat.sdk import BaseOperatorLink

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import BaseOperator, TaskInstanceKey

_KEY: Final = "coordination_partitions"
TAB: Final = "partitions-of-task-instance"
"""The last part of the tab's address; the board's plugin names it, too."""


class PartitionsLink(BaseOperatorLink):
    """Leads to the tab *Partitions* of the task instance: what it has done, and what its source is doing."""

    name = "Partitions"

    @property
    def xcom_key(self) -> str:
        """The key under which Airflow's pages find the address."""
        return _KEY

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address, without a host where ``[api] base_url`` is not set; Airflow asks at the task's end."""
        mapped = ("mapped", str(ti_key.map_index)) if ti_key.map_index >= 0 else ()
        parts = ("dags", ti_key.dag_id, "runs", ti_key.run_id, "tasks", ti_key.task_id, *mapped)
        path = "/".join(quote(part, safe="") for part in (*parts, "plugin", TAB))
        return f"{conf.get('api', 'base_url', fallback='/').rstrip('/')}/{path}"
