"""A driver elsewhere, as its cluster knows it: named by the Spark operator, over all tries of a task instance."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

    from airflow_coordination.submission.spark_provider import ProviderOperator
    from airflow_coordination.submission.spark_submit import LeasedSparkSubmitHook

log = logging.getLogger(__name__)

GONE: Final = "gone"


class ClusterDriver:
    """Asks the cluster for the driver, and ends it.

    :param operator: the Spark operator, which keeps the driver's name in Airflow's task state store, and asks.
    :param hook: of the same submission.
    :param context: of the running try.
    """

    def __init__(self, operator: ProviderOperator, hook: LeasedSparkSubmitHook, context: Context) -> None:
        self._operator, self._hook, self._context = operator, hook, context
        self._store: Any = context.get("task_state_store")

    @property
    def name(self) -> str | None:
        """The cluster's name for it: this try's, or else an earlier one's; ``None`` before the first."""
        return self._hook.remote_id or self._kept()

    def recall(self) -> bool:
        """Make the driver of an earlier try the one to ask for and to end; return whether there is one."""
        kept = self._kept()
        if kept is not None:
            self._hook.remote_id = kept
        return kept is not None

    def forget(self) -> None:
        """Forget the driver of an earlier try, so that the operator submits again."""
        self._hook.remote_id = None
        if self._store is not None:
            for key in self._operator.driver_keys:
                self._store.delete(key)

    def status(self) -> str:
        """Return the cluster's word for how it is.

        :raises Exception: whatever the Spark provider raises when the cluster cannot be asked.
        """
        name = self.name
        return self._operator.get_job_status(name, self._context) if name is not None else GONE

    def is_active(self) -> bool:
        """Return whether it runs, or may come to run."""
        return bool(self._operator.is_job_active(self.status()))

    def has_succeeded(self) -> bool:
        """Return whether it ended well."""
        return bool(self._operator.is_job_succeeded(self.status()))

    def is_surely_over(self) -> bool:
        """Return whether it has ended; not while the cluster cannot be asked."""
        try:
            return not self.is_active()
        except Exception as error:  # the provider raises many kinds
            log.warning("The cluster could not be asked for driver %s: %s", self.name, error)
            return False

    def end(self) -> None:
        """Ask the cluster to end it, as far as it is known."""
        try:
            self._hook.end_remote()
        except Exception as error:  # its writes are refused all the same
            log.warning("Driver %s could not be ended: %s", self.name, error)

    def _kept(self) -> str | None:
        found = self._store.get(self._operator.external_id_key) if self._store is not None else None
        return found if isinstance(found, str) else None
