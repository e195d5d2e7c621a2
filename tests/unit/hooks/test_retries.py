"""When a failed task is worth trying again."""

from datetime import UTC, datetime, timedelta

import pytest
from airflow.sdk import DAG

from airflow_coordination.hooks.policies import POLICIES
from airflow_coordination.hooks.task_errors import PartitionFailedError, SupplierBusyError
from airflow_coordination.leases import (
    DeploymentError,
    Fence,
    PartitionNotOwnedError,
    SettingsError,
    StoreUnavailableError,
)
from airflow_coordination.operators import CreatePartitionsOperator, LeasedSparkSubmitOperator
from airflow_coordination.sensors import PartitionsSensor

if not POLICIES:
    pytest.skip("this Airflow has no retry policies", allow_module_level=True)

from airflow.sdk.definitions.retry_policy import ExceptionRetryPolicy, RetryAction

from airflow_coordination.hooks.retries import CoordinationRetryPolicy

POLICY = CoordinationRetryPolicy()


def test_a_dag_that_airflow_has_serialized_finds_the_policy_again():
    assert CoordinationRetryPolicy.__module__ == "airflow_coordination.hooks.retries"


@pytest.mark.parametrize(
    ("error", "action"),
    [
        (PartitionNotOwnedError("a", Fence(1, "n"), None, None), RetryAction.FAIL),
        (StoreUnavailableError("acquire", "refused"), RetryAction.RETRY),
        (SettingsError("a", 1, "is wrong", "Do"), RetryAction.FAIL),
        (PartitionFailedError("a", "no memory", None, "s|PARTITION"), RetryAction.FAIL),
        (RuntimeError("anything else"), RetryAction.DEFAULT),
    ],
)
def test_what_the_default_policy_says(error, action):
    assert POLICY.evaluate(error, 1, 3).action is action


def test_a_failed_partition_is_retried_when_it_can_be_acquired():
    due = datetime.now(UTC) + timedelta(seconds=30)
    decision = POLICY.evaluate(PartitionFailedError("a", "no memory", due, "s|PARTITION"), 1, 3)
    assert decision.action is RetryAction.RETRY
    assert timedelta(seconds=15) < decision.retry_delay <= timedelta(seconds=31)


def test_e6_a_supplier_that_somebody_else_runs_is_tried_soon_and_last_when_its_lease_can_be_over():
    """E6: the one who holds the lease may be dead, and then nobody gives it back."""
    busy = SupplierBusyError("flights", "host/other", datetime.now(UTC) + timedelta(minutes=10))
    assert [POLICY.evaluate(busy, number, 2).retry_delay for number in (1,)] == [timedelta(seconds=15)]
    assert timedelta(minutes=9) < POLICY.evaluate(busy, 2, 2).retry_delay < timedelta(minutes=11)
    gone = SupplierBusyError("flights", None, None)
    assert POLICY.evaluate(gone, 2, 2).retry_delay == timedelta(seconds=15)


def test_a2_what_a_worker_lacks_is_not_tried_again_at_once():
    """A2: a bad worker fails fastest, and burned all partitions and all tries."""
    decision = POLICY.evaluate(DeploymentError("No Java", "Install it"), 1, 3)
    assert (decision.action, decision.retry_delay) == (RetryAction.RETRY, timedelta(minutes=1))


def test_a_store_outage_is_retried_soon():
    assert POLICY.evaluate(StoreUnavailableError("acquire", "refused"), 1, 3).retry_delay == timedelta(seconds=15)


def test_a_mapped_task_has_the_policy_too():
    """``partial()`` passes every argument to the constructor, those not given as ``None``."""
    with DAG("mapped", schedule=None):
        mapped = LeasedSparkSubmitOperator.partial(task_id="process", source="flights").expand(hint=["a"])
    assert isinstance(mapped.unmap({"hint": "a"}).retry_policy, CoordinationRetryPolicy)


def test_a_policy_of_the_users_own_stands():
    own = ExceptionRetryPolicy([])
    assert CreatePartitionsOperator(task_id="c", source="s", supplier=list, retry_policy=own).retry_policy is own
    with DAG("defaults", schedule=None, default_args={"retry_policy": own}):
        assert PartitionsSensor(task_id="wait", source="flights").retry_policy is own
