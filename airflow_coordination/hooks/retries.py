"""The retry policy of our operators, and the errors that it knows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from airflow.sdk.definitions.retry_policy import ExceptionRetryPolicy, RetryAction, RetryDecision, RetryRule

from airflow_coordination.protocol.remedies import AIRFLOW, Shell, about
from airflow_coordination.values.errors import (
    DeploymentError,
    PartitionNotFoundError,
    PartitionNotOwnedError,
    StoreUnavailableError,
)
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError, shown

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

SOON: Final = timedelta(seconds=15)
MENDING: Final = timedelta(minutes=1)
"""Before a task that could not begin is tried again: a worker that lacks something fails fastest, and would otherwise
take every partition from those that have it. The next try may come to another worker."""


class PartitionFailedError(CoordinationError):
    """The work on a partition failed; the partition waits, or is parked.

    :param key: the partition.
    :param reason: what failed.
    :param available_at: when it can be acquired again, ``None`` when it is parked.
    :param source: the stored identifier of its source, for the command that a person may type.
    :param shell: how commands reach its store.
    """

    def __init__(
        self, key: str, reason: str, available_at: datetime | None, source: str, shell: Shell = AIRFLOW
    ) -> None:
        super().__init__(key, reason, available_at, source, shell)
        self.shell = shell
        self.key, self.reason, self.available_at, self.source = key, reason, available_at, source

    def __str__(self) -> str:
        after = (
            f"It can be tried again from {self.available_at.isoformat(timespec='seconds')}"
            if self.available_at
            else f"It is parked until a person acts: {about(self.shell, 'reopen', self.source, self.key)}"
        )
        return f"Partition {shown(self.key)}: {self.reason}. {after}."


class SupplierBusyError(CoordinationError):
    """Nothing was listed: somebody else holds the source's lease, alive or dead.

    :param source: the source's name.
    :param rival: who holds it, ``None`` when it was free again a moment later.
    :param until: when that lease ends unless it is renewed.
    """

    def __init__(self, source: str, rival: str | None, until: datetime | None) -> None:
        super().__init__(source, rival, until)
        self.source, self.rival, self.until = source, rival, until

    def __str__(self) -> str:
        end = f" until {self.until.isoformat(timespec='seconds')}, if it does not renew it" if self.until else ""
        return (
            f"Nothing was listed: {shown(self.rival)} holds the lease of the supplier of source {shown(self.source)}"
            f"{end}. Retry soon; without retries, run this task again."
        )


class DrainCutShortError(CoordinationError):
    """The driver of a drain ended between two partitions: none of them failed, and the source may hold more.

    :param partitions: how many it had ended.
    :param reason: how the driver ended.
    """

    def __init__(self, partitions: int, reason: str) -> None:
        super().__init__(partitions, reason)
        self.partitions, self.reason = partitions, reason

    def __str__(self) -> str:
        return (
            f"The driver ended after {self.partitions} partitions, before it knew that there are no more: "
            f"{self.reason}. Nothing was lost; the next try goes on."
        )


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


def default_retry_policy() -> CoordinationRetryPolicy:
    """Return the policy our operators use unless they are given another, also by their DAG's ``default_args``.

    They set it after Airflow's own constructor: ``partial()`` passes every argument, those not given as ``None``.
    """
    return CoordinationRetryPolicy()
