"""The retry policy of our operators; Airflow knows such a thing from 3.3 on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from airflow.sdk.definitions.retry_policy import ExceptionRetryPolicy, RetryAction, RetryDecision, RetryRule

from airflow_coordination.hooks.task_errors import DrainCutShortError, PartitionFailedError, SupplierBusyError
from airflow_coordination.values.errors import (
    DeploymentError,
    PartitionNotFoundError,
    PartitionNotOwnedError,
    StoreUnavailableError,
)
from airflow_coordination.values.input_errors import InvalidInputError

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

SOON: Final = timedelta(seconds=15)
MENDING: Final = timedelta(minutes=1)
"""Before a task that could not begin is tried again: a worker that lacks something fails fastest, and would otherwise
take every partition from those that have it. The next try may come to another worker."""


class CoordinationRetryPolicy(ExceptionRetryPolicy):
    """Lease lost: fail, somebody else owns the partition. Store unavailable: retry soon. Wrong input: fail.

    A failed partition is retried when it can be acquired again, so that no try is lost on waiting for it. While
    somebody else holds a supplier's lease it is retried soon, the last time when that lease can be over. What a worker
    lacks: retry in a minute, perhaps on another one; nothing is charged meanwhile.
    """

    def __init__(self) -> None:
        super().__init__(
            [
                RetryRule(PartitionNotOwnedError, RetryAction.FAIL, reason="The lease was lost to another owner"),
                RetryRule(StoreUnavailableError, RetryAction.RETRY, SOON, "The store could not be reached"),
                RetryRule(DeploymentError, RetryAction.RETRY, MENDING, "The worker may be mended, or be another one"),
                RetryRule(DrainCutShortError, RetryAction.RETRY, SOON, "The driver ended between two partitions"),
                RetryRule(InvalidInputError, RetryAction.FAIL, reason="The same input would fail again"),
            ]
        )

    def evaluate(
        self, exception: BaseException, try_number: int, max_tries: int, context: Context | None = None
    ) -> RetryDecision:
        """Return what should happen after ``exception``."""
        if isinstance(exception, SupplierBusyError):
            last = try_number >= max_tries
            wait = max(_until(exception.until), SOON) if last and exception.until else SOON
            return RetryDecision.retry(wait, "The supplier's lease may be free then")
        if isinstance(exception, PartitionNotFoundError) and exception.deleted_by is not None:
            return RetryDecision.fail("A person has deleted the partition")
        if not isinstance(exception, PartitionFailedError):
            return super().evaluate(exception, try_number, max_tries, context)
        if exception.available_at is None:
            return RetryDecision.fail("The partition is parked")
        return RetryDecision.retry(_until(exception.available_at), "The partition can be acquired again then")


def _until(moment: datetime) -> timedelta:
    """Return how long it is until shortly after ``moment``."""
    return max(moment - datetime.now(UTC), timedelta(0)) + timedelta(seconds=1)
