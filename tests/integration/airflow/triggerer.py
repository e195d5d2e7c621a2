"""Airflow's own triggerer, in the test's process: its runner as it is, without the supervisor that feeds it."""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from airflow.executors.workloads.trigger import RunTrigger
from airflow.jobs.triggerer_job_runner import TriggerRunner
from airflow.models.trigger import Trigger
from airflow.triggers.base import BaseTrigger


class Triggerer:
    """Runs triggers as the triggerer does: from their serialized arguments, in one loop."""

    def __init__(self) -> None:
        self.runner = TriggerRunner()
        self._ids = itertools.count(1)

    async def start(self, trigger: BaseTrigger) -> int:
        """Start a trigger; return its id."""
        row, number = Trigger.from_object(trigger), next(self._ids)
        self.runner.to_create.append(
            RunTrigger(id=number, classpath=row.classpath, encrypted_kwargs=row.encrypted_kwargs)
        )
        await self.runner.create_triggers()
        return number

    async def cancel(self, number: int) -> None:
        """End one trigger as a user's action on its task does."""
        task = self.runner.triggers[number]["task"]
        self.runner.to_cancel.append(number)
        await self.runner.cancel_triggers()
        await asyncio.wait([task])

    async def end(self) -> None:
        """End everything, as a shutdown does."""
        tasks = [details["task"] for details in self.runner.triggers.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self.runner._shared_streams.stop_all()

    @property
    def loops(self) -> int:
        """How many shared loops run."""
        return len(self.runner._shared_streams._groups)

    @property
    def events(self) -> dict[int, list[Any]]:
        """The payloads each trigger has fired."""
        found = defaultdict(list)
        for entry in self.runner.events:
            found[entry.trigger_id].append(entry.event.payload)
        return found


async def until(condition: Callable[[], Any], seconds: float = 90) -> None:
    """Wait until ``condition`` holds."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)
