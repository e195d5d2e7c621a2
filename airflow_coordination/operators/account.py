"""What a task that works in its own process knows of its tenures, and makes known."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from airflow_coordination.leases import Fence, Lease, Outcome, SourceCoordinator
from airflow_coordination.operators.choice import Memory
from airflow_coordination.operators.conclusion import report
from airflow_coordination.operators.labels import show_partition, tell_outlets
from airflow_coordination.operators.tenures import Tenures

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

log = logging.getLogger(__name__)


class Account:
    """Takes the reports of the tenures that a task works through: for the grid, the log, and its next try.

    :param context: of the task.
    :param memory: of the task instance.
    :param lease: the first one.
    """

    def __init__(self, context: Context, memory: Memory, lease: Lease) -> None:
        self._context, self._memory = context, memory
        self.tenures = Tenures(lease.key, lease.fence)
        """The tenures of this task."""

    def __call__(self, event: str, **facts: Any) -> None:
        """Take one report."""
        log.info("%s", _told(event, **facts))
        if event == "began":
            self._begin(facts["key"], Fence.parse(facts["fence"]))
        elif event == "ended":
            self.tenures.ended(facts["key"], Outcome(facts["outcome"]))

    def conclude(self, coordinator: SourceCoordinator, stop: BaseException | None) -> None:
        """Tell Airflow how the tenures ended; raise what the first that did not end well deserves.

        :param stop: why the work was stopped, ``None`` if it was not.
        """
        try:
            report(coordinator, self.tenures, stop)
        except Exception:
            self._memory.remember(*next(iter(self.tenures.unfinished.items()), self.tenures.current))
            log.info("Ended with %s", self.tenures.summary())
            raise
        tell_outlets(self._context, self.tenures.done)

    def _begin(self, key: str, fence: Fence) -> None:
        self.tenures.began(key, fence)
        try:
            show_partition(self._context, key)
            self._memory.remember(key, fence)
        except Exception as error:  # neither is worth the work
            log.warning("Airflow could not be told of partition %a: %s", key, error)


def _told(event: str, key: str, fence: str, **facts: Any) -> str:
    told = ", ".join(f"{name} {value}" for name, value in facts.items() if value is not None)
    return f"Partition {key!a} under fence {fence} {event}{f': {told}' if told else ''}"
