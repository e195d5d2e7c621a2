"""What a task that works in its own process knows of its tenures, and makes known."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from airflow_coordination.leases import Fence, Lease, Outcome, SourceCoordinator
from airflow_coordination.operators.choice import Memory
from airflow_coordination.operators.conclusion import report
from airflow_coordination.operators.labels import Label, tell_outlets
from airflow_coordination.operators.reports import log_report
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
        self._label = Label(context, lease.key)
        self.tenures = Tenures(lease.key, lease.fence)
        """The tenures of this task."""

    def __call__(self, event: str, **facts: Any) -> None:
        """Take one report."""
        log_report(event, facts)
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
            self._memory.remember(*self.tenures.first_unfinished)
            log.info("Ended with %s", self.tenures.summary())
            raise
        tell_outlets(self._context, self.tenures.done)

    def _begin(self, key: str, fence: Fence) -> None:
        self.tenures.began(key, fence)
        self._label.show(key)
