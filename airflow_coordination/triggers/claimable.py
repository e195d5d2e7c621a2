"""Events for an AssetWatcher: work of a source waits, and nobody has taken it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import ClassVar, Final

from airflow.providers.common.compat.sdk import AirflowException
from airflow.triggers.base import TriggerEvent

from airflow_coordination.hooks.connection import DEFAULT_CONNECTION
from airflow_coordination.hooks.settings import sweep_interval
from airflow_coordination.monitoring.waiting.idleness import WakeUp
from airflow_coordination.triggers.source import Seen, SourceTrigger, most_hints
from airflow_coordination.values.input_errors import CoordinationError, SettingsError

REMIND_AFTER: Final = timedelta(minutes=1)


class ClaimablePartitionsTrigger(SourceTrigger):
    """Fires when work can be acquired: new, due, given back, or lost by its owner. It sweeps, so no run needs to go on.

    Give it to an ``AssetWatcher``: the DAG scheduled on the asset starts when there is work, without a schedule. It
    fires once for each change, and again when nothing of that is taken. When the triggerer starts again, it fires once
    for the work that is there.

    :param source: the source's name.
    :param coordination_conn_id: the connection of the store.
    :param partition_prefix: keeps deployments that share a store apart.
    :param poke_interval: time between two looks; default ``[coordination] sweep_interval``, 30 s. Triggers and deferred
        sensors on the same source with the same interval share one loop.
    :param remind_after: how long the same work may wait before another event, for when the run that the first one
        started has died before it took any; default 1 min. Twice as long each further time, up to 1 h.
    """

    arguments: ClassVar[tuple[str, ...]] = (*SourceTrigger.arguments, "remind_after")

    def __init__(
        self,
        source: str,
        coordination_conn_id: str = DEFAULT_CONNECTION,
        partition_prefix: str | None = None,
        poke_interval: timedelta | float | None = None,
        remind_after: timedelta | float = REMIND_AFTER,
    ) -> None:
        interval = _seconds("poke_interval", sweep_interval() if poke_interval is None else poke_interval)
        super().__init__(source, coordination_conn_id, partition_prefix, interval)
        self.remind_after = _seconds("remind_after", remind_after)
        self._said = ""

    async def filter_shared_stream(self, shared_stream: AsyncIterator[Seen]) -> AsyncIterator[TriggerEvent]:
        """Yield an event for each change of what can be acquired, as long as something can."""
        wake_up = WakeUp(self.remind_after, most_hints())
        async for seen in shared_stream:
            hints = await self._hints(seen)
            if isinstance(seen, Exception) or hints is None:
                continue
            if wake_up.is_due(hints, seen.outlook.assigned > 0, time.monotonic()):
                count = max(len(hints), seen.outlook.claimable)
                payload = {"source": self.source, "claimable": count, "first": seen.key_of(hints[0])}
                yield TriggerEvent(payload)  # type: ignore[no-untyped-call]

    async def _hints(self, seen: Seen) -> list[str] | None:
        """Return what can be acquired; ``None`` when nobody knows, which is said once, until it changes."""
        try:
            if isinstance(seen, Exception):
                raise seen
            hints = await asyncio.to_thread(seen.hints)
        except (CoordinationError, AirflowException) as error:
            if str(error) != self._said:
                self._said = str(error)
                self.log.error("Will look again: %s", error)
            return None
        self._said = ""
        return hints


def _seconds(name: str, value: timedelta | float) -> float:
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if seconds <= 0:
        raise SettingsError(name, value, "is not above zero", "Give a timedelta or seconds, for example 30")
    return seconds
