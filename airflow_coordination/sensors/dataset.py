"""The sensor that waits until readers find enough of an interval of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, BaseSensorOperator

from airflow_coordination.hooks.connection import DEFAULT_CONNECTION
from airflow_coordination.hooks.policies import give_retry_policy
from airflow_coordination.hooks.settings import sweep_interval
from airflow_coordination.hooks.text_fields import TextFields
from airflow_coordination.monitoring.waiting.conclusion import Conclusion, WaitVerdict
from airflow_coordination.outputs.availability import check_percent
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.triggers.dataset import DatasetTrigger, look

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context


class DatasetAvailableSensor(TextFields, BaseSensorOperator):
    """Waits until readers find so much of an interval of a dataset, whoever publishes it.

    What is hidden is not there, nor what a branch has published that does not show yet. Its log says which stretches of
    time are missing, and why. It changes nothing, and sweeps nothing.

    :param source: the source's name. (templated)
    :param dataset: the dataset. (templated)
    :param interval: such as ``2013-01/P1M``, or
        ``"{{ data_interval_start | ts }}/{{ data_interval_end | ts }}"``. (templated)
    :param min_percent: so much of its time, above 0 and up to 100.
    :param deferrable: wait in the triggerer, without a worker slot.
    :param poke_interval: time between two looks; default ``[coordination] sweep_interval``, 30 s.
    :param coordination_conn_id: the connection of the store.
    :param partition_prefix: keeps deployments that share a store apart. (templated)
    :raises InvalidInputError: when ``min_percent`` is none, or ``interval``, where it is no template; else in the task.
    """

    template_fields: Sequence[str] = ("source", "dataset", "interval", "partition_prefix")
    text_fields: Sequence[str] = template_fields
    ui_color = "#fdf3d8"

    def __init__(
        self,
        *,
        source: str,
        dataset: str,
        interval: str,
        min_percent: float = 100,
        deferrable: bool = True,
        poke_interval: timedelta | float | None = None,
        coordination_conn_id: str = DEFAULT_CONNECTION,
        partition_prefix: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(poke_interval=sweep_interval() if poke_interval is None else poke_interval, **kwargs)
        give_retry_policy(self)
        said: object = interval  # a task before this one may give it
        if isinstance(said, str) and "{{" not in said:
            parse_interval("interval", said)
        self.source = source
        self.dataset = dataset
        self.interval = interval
        self.min_percent = check_percent("min_percent", min_percent)
        self.deferrable = deferrable
        self.coordination_conn_id = coordination_conn_id
        self.partition_prefix = partition_prefix

    def poke(self, context: Context) -> bool:
        """Look once, and go to the triggerer if it is to wait there: so Airflow treats a first look as any other."""
        found = look(**self._what())
        self.log.info(found.message)
        if found.verdict is WaitVerdict.WAIT and self.deferrable:
            self.defer(
                trigger=DatasetTrigger(**self._what(), poke_interval=self.poke_interval),
                method_name="execute_complete",
                timeout=timedelta(seconds=self.timeout),
            )
        return found.verdict is WaitVerdict.READY

    def execute_complete(self, context: Context, event: dict[str, Any]) -> None:
        """Conclude from the trigger's event.

        :raises AirflowException: when a look has failed for good.
        """
        found = Conclusion.from_event(event)
        if found.verdict is not WaitVerdict.READY:
            raise AirflowException(found.message)
        self.log.info(found.message)

    def _what(self) -> dict[str, Any]:
        named = ("source", "partition_prefix", "dataset", "interval", "min_percent", "coordination_conn_id")
        return {name: getattr(self, name) for name in named}
