"""The waiting of a DatasetAvailableSensor, in the triggerer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowException
from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.monitoring.waiting.conclusion import Conclusion, WaitVerdict
from airflow_coordination.outputs.availability import availability
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.triggers.source import serialized, verdict_on
from airflow_coordination.values.input_errors import CoordinationError, SettingsError


def look(
    coordination_conn_id: str,
    source: str,
    partition_prefix: str | None,
    dataset: str,
    interval: str,
    min_percent: float,
    hook: CoordinationHook | None = None,
) -> Conclusion:
    """Return whether so much of an interval is there: one look, with a few reads of the store.

    :param hook: of the connection, where it was resolved already.
    """
    store = (hook or CoordinationHook(coordination_conn_id)).get_conn()
    said = parse_interval("interval", interval)
    found = availability(store, source, dataset, said, min_percent, partition_prefix)
    if found.enough:
        return Conclusion(WaitVerdict.READY, found.message)
    unknown = "" if found.anything else _unknown(SourceCoordinator(store, source, "a sensor", partition_prefix or None))
    return Conclusion(WaitVerdict.WAIT, found.message + unknown)


def _unknown(coordinator: SourceCoordinator) -> str:
    """Say so if the store does not know the source, or under another prefix: it may come yet, or a name is wrong."""
    try:
        coordinator.looking.check_known()
    except SettingsError as unknown:
        return f" {unknown}"
    return ""


class DatasetTrigger(BaseTrigger):
    """Looks again and again until enough of an interval of a dataset is there.

    An outage of the store is an error in the task's log; the trigger goes on when the store is back.

    :param coordination_conn_id: the connection of the store.
    :param source: the source's name.
    :param partition_prefix: its prefix.
    :param dataset: the dataset.
    :param interval: such as ``2013-01/P1M``.
    :param min_percent: so much of its time.
    :param poke_interval: seconds between two looks.
    """

    arguments: ClassVar[tuple[str, ...]] = (
        "coordination_conn_id",
        "source",
        "partition_prefix",
        "dataset",
        "interval",
        "min_percent",
        "poke_interval",
    )

    def __init__(
        self,
        coordination_conn_id: str,
        source: str,
        partition_prefix: str | None,
        dataset: str,
        interval: str,
        min_percent: float,
        poke_interval: float,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.coordination_conn_id = coordination_conn_id
        self.source = source
        self.partition_prefix = partition_prefix
        self.dataset = dataset
        self.interval = interval
        self.min_percent = min_percent
        self.poke_interval = poke_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what the triggerer needs to make this trigger again: no secret, only plain values."""
        return serialized(self, self.arguments)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield one event when enough is there, or a look has failed for good."""
        while True:
            found = await self._look()
            if found.verdict is not WaitVerdict.WAIT:
                yield TriggerEvent(found.to_event())  # type: ignore[no-untyped-call]
                return
            self.log.info(found.message)
            await asyncio.sleep(self.poke_interval)

    async def _look(self) -> Conclusion:
        """Look once. The connection is looked up each time: it may have been put right."""
        try:
            hook = CoordinationHook(self.coordination_conn_id)
            await hook.resolve()
            arguments = {name: getattr(self, name) for name in self.arguments if name != "poke_interval"}
            return await asyncio.to_thread(look, **arguments, hook=hook)
        except (CoordinationError, AirflowException) as error:
            return verdict_on(error, self.log)
