"""The waiting of a PartitionsSensor, in the triggerer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import ClassVar

from airflow.providers.common.compat.sdk import AirflowException
from airflow.triggers.base import TriggerEvent

from airflow_coordination.leases import CoordinationError, OutcomeUnknownError, StoreUnavailableError
from airflow_coordination.sensors.outlook import Look, Until, Verdict, judge
from airflow_coordination.triggers.source import Seen, SourceTrigger


class PartitionsTrigger(SourceTrigger):
    """Sweeps a source again and again until the sensor's waiting is over; see :class:`SourceTrigger`.

    An outage of the store is an error in the task's log, never "no work"; the trigger goes on when the store is back.

    :param source: the source's name.
    :param coordination_conn_id: the connection of the store.
    :param partition_prefix: its prefix.
    :param until: ``claimable`` or ``completed``.
    :param max_hints: how many hints at most.
    :param poke_interval: seconds between two looks.
    """

    arguments: ClassVar[tuple[str, ...]] = (*SourceTrigger.arguments, "until", "max_hints")

    def __init__(
        self,
        source: str,
        coordination_conn_id: str,
        partition_prefix: str | None,
        until: str,
        max_hints: int,
        poke_interval: float,
    ) -> None:
        super().__init__(source, coordination_conn_id, partition_prefix, poke_interval)
        self.until = until
        self.max_hints = max_hints

    async def filter_shared_stream(self, shared_stream: AsyncIterator[Seen]) -> AsyncIterator[TriggerEvent]:
        """Yield one event when the waiting is over."""
        async for seen in shared_stream:
            found = await self._judged(seen)
            if found.verdict is not Verdict.WAIT:
                yield TriggerEvent(found.to_event())  # type: ignore[no-untyped-call]
                return

    async def _judged(self, seen: Seen) -> Look:
        try:
            if isinstance(seen, Exception):
                raise seen
            return await asyncio.to_thread(judge, seen, Until(self.until), self.max_hints)
        except (StoreUnavailableError, OutcomeUnknownError) as error:
            self.log.error("Will look again: %s", error)
            return Look(Verdict.WAIT, str(error))
        except (CoordinationError, AirflowException) as error:
            return Look(Verdict.ERROR, str(error))
