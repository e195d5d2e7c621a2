"""When a failed task is worth trying again."""

from datetime import UTC, datetime, timedelta

import pytest
from airflow.sdk.definitions.retry_policy import RetryAction

from airflow_coordination.hooks.retries import PartitionFailedError, default_retry_policy
from airflow_coordination.leases import Fence, PartitionNotOwnedError, SettingsError, StoreUnavailableError

POLICY = default_retry_policy()


@pytest.mark.parametrize(
    ("error", "action"),
    [
        (PartitionNotOwnedError("a", Fence(1, "n"), None, None), RetryAction.FAIL),
        (StoreUnavailableError("acquire", "refused"), RetryAction.RETRY),
        (SettingsError("a", 1, "is wrong", "Do"), RetryAction.FAIL),
        (PartitionFailedError("a", "no memory", None), RetryAction.FAIL),
        (RuntimeError("anything else"), RetryAction.DEFAULT),
    ],
)
def test_what_the_default_policy_says(error, action):
    assert POLICY.evaluate(error, 1, 3).action is action


def test_a_failed_partition_is_retried_when_it_can_be_acquired():
    due = datetime.now(UTC) + timedelta(seconds=30)
    decision = POLICY.evaluate(PartitionFailedError("a", "no memory", due), 1, 3)
    assert decision.action is RetryAction.RETRY
    assert timedelta(seconds=29) < decision.retry_delay <= timedelta(seconds=31)


def test_a_store_outage_is_retried_soon():
    assert POLICY.evaluate(StoreUnavailableError("acquire", "refused"), 1, 3).retry_delay == timedelta(seconds=15)
