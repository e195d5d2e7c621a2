"""The link to a running application's Spark UI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from airflow.providers.common.compat.sdk import BaseOperatorLink, XCom

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import BaseOperator, TaskInstanceKey
    from airflow.sdk.definitions.context import Context

_KEY: Final = "coordination_spark_ui"


class SparkUILink(BaseOperatorLink):
    """Leads to the driver's own UI, from the moment the driver reports where it is until it ends."""

    name = "Spark UI"

    @property
    def xcom_key(self) -> str:
        """The key under which the address is kept."""
        return _KEY

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the address, empty while the driver has not reported it."""
        return str(XCom.get_value(key=_KEY, ti_key=ti_key) or "")

    @staticmethod
    def push(context: Context, url: str) -> None:
        """Make the button appear now: Airflow itself pushes links only at the task's end."""
        context["ti"].xcom_push(key=_KEY, value=url)
