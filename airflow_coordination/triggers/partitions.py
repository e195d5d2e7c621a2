"""The waiting of a PartitionsSensor, in the triggerer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import ClassVar

from airflow.providers.common.compat.sdk import AirflowException
from airflow.triggers.base import TriggerEvent

from airflow_coordination.monitoring.waiting.conclusion import (
    Conclusion,
    OnIdle,
    OnParked,
    Until,
    Waiting,
    WaitTerms,
    WaitVerdict,
)
from airflow_coordination.triggers.source import Seen, SourceTrigger, verdict_on
from airflow_coordination.values.input_errors import CoordinationError


class PartitionsTrigger(SourceTrigger):
    """Sweeps a source again and again until the sensor's waiting is over; see :class:`SourceTrigger`.

    An outage of the store is an error in the task's log, never "no work"; the trigger goes on when the store is back.

    :param source: the source's name.
    :param coordination_conn_id: the connection of the store.
    :param partition_prefix: its prefix.
    :param until: ``claimable`` or ``completed``.
    :param max_hints: how many hints at most.
    :param poke_interval: seconds between two looks.
    :param on_parked: ``fail`` or ``ignore``.
    :param on_idle: ``fail``, ``succeed`` or ``wait``.
    """

    arguments: ClassVar[tuple[str, ...]] = (*SourceTrigger.arguments, "until", "max_hints", "on_parked", "on_idle")

    def __init__(
        self,
        source: str,
        coordination_conn_id: str,
        partition_prefix: str | None,
        until: str,
        max_hints: int,
        poke_interval: float,
        on_parked: str = OnParked.FAIL.value,  # a sensor of an earlier version that waits already names neither,
        on_idle: str = OnIdle.WAIT.value,  # and a task of that version understands no other verdict
    ) -> None:
        super().__init__(source, coordination_conn_id, partition_prefix, poke_interval)
        self.until = until
        self.max_hints = max_hints
        self.on_parked = on_parked
        self.on_idle = on_idle

    async def filter_shared_stream(self, shared_stream: AsyncIterator[Seen]) -> AsyncIterator[TriggerEvent]:
        """Yield one event when the waiting is over."""
        waiting = Waiting(WaitTerms(Until(self.until), self.max_hints, OnParked(self.on_parked), OnIdle(self.on_idle)))
        async for seen in shared_stream:
            found = await self._conclude(waiting, seen)
            if found.verdict is not WaitVerdict.WAIT:
                yield TriggerEvent(found.to_event())  # type: ignore[no-untyped-call]
                return

    async def _conclude(self, waiting: Waiting, seen: Seen) -> Conclusion:
        try:
            if isinstance(seen, Exception):
                raise seen
            return await asyncio.to_thread(waiting.conclude, seen)
        except (CoordinationError, AirflowException) as error:
            return verdict_on(error, self.log)
