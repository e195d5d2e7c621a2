"""The link to a running application's Spark UI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from airflow.providers.common.compat.sdk import BaseOperatorLink

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import BaseOperator, TaskInstanceKey
    from airflow.sdk.definitions.context import Context

_KEY: Final = "coordination_spark_ui"


class SparkUILink(BaseOperatorLink):
    """Leads to the driver's own UI, from the moment the driver reports where it is."""

    name = "Spark UI"

    @property
    def xcom_key(self) -> str:
        """The key under which Airflow's pages find the address."""
        return _KEY

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address that the driver reported, empty if it has none; Airflow asks at the task's end."""
        return str(getattr(operator, "spark_ui_url", ""))

    @staticmethod
    def push(context: Context, url: str) -> None:
        """Make the button lead there now, not only at the task's end."""
        context["task"].spark_ui_url = url  # type: ignore[union-attr]
        context["ti"].xcom_push(key=_KEY, value=url)
