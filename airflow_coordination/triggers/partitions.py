"""The waiting of a PartitionsSensor, in the triggerer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent
from asgiref.sync import sync_to_async

from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.leases import CoordinationError, OutcomeUnknownError, SourceCoordinator, StoreUnavailableError
from airflow_coordination.sensors.outlook import Look, Until, Verdict, look


class PartitionsTrigger(BaseTrigger):
    """Sweeps a source again and again until the sensor's waiting is over. Several of them do no harm (promise L9).

    An outage of the store is an error in the log, never "no work"; the trigger goes on when the store is back.

    :param coordination_conn_id: the connection of the store.
    :param source: the source's name.
    :param partition_prefix: its prefix.
    :param owner: who sweeps.
    :param until: ``claimable`` or ``completed``.
    :param max_hints: how many hints at most.
    :param poke_interval: seconds between two looks.
    """

    def __init__(
        self,
        coordination_conn_id: str,
        source: str,
        partition_prefix: str | None,
        owner: str,
        until: str,
        max_hints: int,
        poke_interval: float,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.coordination_conn_id = coordination_conn_id
        self.source = source
        self.partition_prefix = partition_prefix
        self.owner = owner
        self.until = until
        self.max_hints = max_hints
        self.poke_interval = poke_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what the triggerer needs to make this trigger again: no secret, only plain values."""
        names = ("coordination_conn_id", "source", "partition_prefix", "owner", "until", "max_hints", "poke_interval")
        path = f"{type(self).__module__}.{type(self).__qualname__}"
        return path, {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield one event when the waiting is over."""
        try:
            coordinator = await self._coordinator()
            while True:
                found = await self._look(coordinator)
                if found.verdict is not Verdict.WAIT:
                    break
                await asyncio.sleep(self._pause(found.seconds))
        except CoordinationError as error:
            found = Look(Verdict.ERROR, str(error))
        yield TriggerEvent(found.to_event())  # type: ignore[no-untyped-call]

    async def _coordinator(self) -> SourceCoordinator:
        hook = CoordinationHook(self.coordination_conn_id)
        await hook.resolve()
        while True:
            try:
                return await sync_to_async(hook.coordinator)(
                    self.source, self.owner, partition_prefix=self.partition_prefix
                )
            except StoreUnavailableError as error:
                self.log.error("%s Will try again.", error)
                await asyncio.sleep(self.poke_interval)

    async def _look(self, coordinator: SourceCoordinator) -> Look:
        try:
            return await sync_to_async(look)(coordinator, Until(self.until), self.max_hints)
        except (StoreUnavailableError, OutcomeUnknownError) as error:
            self.log.error("%s Will look again.", error)
            return Look(Verdict.WAIT, str(error))

    def _pause(self, until_due: float | None) -> float:
        """Return the seconds to the next look: earlier than usual when something is due earlier."""
        soon = self.poke_interval if until_due is None else min(self.poke_interval, max(until_due, 0.0) + 0.1)
        return max(soon, min(1.0, self.poke_interval))
