"""One loop of sweeping and looking for every trigger of a triggerer that waits on the same source."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Hashable, Iterable
from contextlib import aclosing
from typing import Any, ClassVar, TypeAlias

from airflow.providers.common.compat.sdk import AirflowException, conf
from airflow.triggers.base import BaseEventTrigger, BaseTrigger, TriggerEvent

from airflow_coordination.duties.standing import observe
from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.monitoring.waiting.conclusion import Conclusion, WaitVerdict
from airflow_coordination.monitoring.waiting.observation import Observation
from airflow_coordination.values.errors import OutcomeUnknownError, StoreUnavailableError
from airflow_coordination.values.input_errors import CoordinationError

Seen: TypeAlias = Observation | CoordinationError | AirflowException
"""The result of one pass of the loop: an observation, or the reason why there is none."""


def most_hints() -> int:
    """Return how many hints Airflow can map over: ``[core] max_map_length``."""
    most: int = conf.getint("core", "max_map_length", fallback=1024)
    return most


def verdict_on(error: CoordinationError | AirflowException, log: Any) -> Conclusion:
    """Return what a look concludes that came to nothing: an outage passes, anything else is for a person.

    :param log: hears of an outage; it is never "no work".
    """
    if isinstance(error, StoreUnavailableError | OutcomeUnknownError):
        log.error("Will look again: %s", error)
        return Conclusion(WaitVerdict.WAIT, str(error))
    return Conclusion(WaitVerdict.ERROR, str(error))


def serialized(trigger: BaseTrigger, arguments: Iterable[str]) -> tuple[str, dict[str, Any]]:
    """Return what the triggerer needs to make a trigger again: no secret, only plain values."""
    path = f"{type(trigger).__module__}.{type(trigger).__qualname__}"
    return path, {name: getattr(trigger, name) for name in arguments}


class SourceTrigger(BaseEventTrigger):
    """Waits on a source. All that wait on the same one with the same interval share one loop (Airflow: shared streams).

    The loop lives as long as its triggers, and no error ends it: each trigger judges for itself. Several loops on one
    source do no harm (promise L9).

    :param source: the source's name.
    :param coordination_conn_id: the connection of the store.
    :param partition_prefix: keeps deployments that share a store apart.
    :param poke_interval: seconds between two looks; the next one is earlier when something is due earlier.
    """

    arguments: ClassVar[tuple[str, ...]] = ("source", "coordination_conn_id", "partition_prefix", "poke_interval")

    def __init__(
        self, source: str, coordination_conn_id: str, partition_prefix: str | None, poke_interval: float
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.source = source
        self.coordination_conn_id = coordination_conn_id
        self.partition_prefix = partition_prefix
        self.poke_interval = poke_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what the triggerer needs to make this trigger again: no secret, only plain values."""
        return serialized(self, self.arguments)

    def shared_stream_key(self) -> Hashable:
        """Return what triggers that share a loop have in common."""
        return "coordination", *(getattr(self, name) for name in SourceTrigger.arguments)

    @classmethod
    async def open_shared_stream(cls, kwargs: dict[str, Any]) -> AsyncGenerator[Seen, None]:
        """Sweep and look for ever. After an error the connection is looked up again: it may have been put right."""
        coordinator: SourceCoordinator | None = None
        seen: Seen
        while True:
            try:
                coordinator = coordinator or await _coordinator(kwargs)
                seen = await asyncio.to_thread(observe, coordinator, most_hints())
            except (CoordinationError, AirflowException) as error:
                coordinator, seen = None, error
            yield seen
            await asyncio.sleep(_pause(seen, kwargs["poke_interval"]))

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait with a loop of its own, where nothing shares (Airflow: ``dag.test()``)."""
        async with aclosing(self.open_shared_stream(self.serialize()[1])) as stream:
            async for event in self.filter_shared_stream(stream):
                yield event


async def _coordinator(kwargs: dict[str, Any]) -> SourceCoordinator:
    hook = CoordinationHook(kwargs["coordination_conn_id"])
    await hook.resolve()
    owner = f"{socket.gethostname()}/triggerer"
    return await asyncio.to_thread(
        hook.coordinator, kwargs["source"], owner, partition_prefix=kwargs["partition_prefix"]
    )


def _pause(seen: Seen, interval: float) -> float:
    """Return the seconds to the next look."""
    due = seen.seconds if isinstance(seen, Observation) else None
    soon = interval if due is None else min(interval, max(due, 0.0) + 0.1)
    return max(soon, min(1.0, interval))
