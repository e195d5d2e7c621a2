"""Names that Airflow keeps for work in flight: an upgrade must find them again."""

from types import SimpleNamespace

import pytest

from airflow_coordination.leases import Fence
from airflow_coordination.links.partitions import PartitionsLink
from airflow_coordination.links.spark_ui import SparkUILink
from airflow_coordination.monitoring.waiting.conclusion import Conclusion, WaitVerdict
from airflow_coordination.monitoring.waiting.idleness import Idleness
from airflow_coordination.operators import (
    BeginBranchOperator,
    CreatePartitionsOperator,
    LeasedPySparkOperator,
    LeasedSparkSubmitOperator,
    PlanCompactionOperator,
    PublishBranchOperator,
)
from airflow_coordination.sensors import DatasetAvailableSensor, PartitionsSensor
from airflow_coordination.sensors.partitions import RescheduleMemory
from airflow_coordination.submission.task_instance import TaskMemory
from airflow_coordination.triggers import ClaimablePartitionsTrigger, DatasetTrigger, PartitionsTrigger

PATHS = {
    PartitionsTrigger: "triggers.partitions",
    ClaimablePartitionsTrigger: "triggers.claimable",
    PartitionsLink: "links.partitions",
    SparkUILink: "links.spark_ui",
    CreatePartitionsOperator: "operators.create_partitions",
    LeasedPySparkOperator: "operators.pyspark",
    LeasedSparkSubmitOperator: "operators.spark_submit",
    PartitionsSensor: "sensors.partitions",
    DatasetAvailableSensor: "sensors.dataset",
    DatasetTrigger: "triggers.dataset",
    PlanCompactionOperator: "operators.plan_compaction",
    BeginBranchOperator: "operators.branches",
    PublishBranchOperator: "operators.branches",
}


class Kept(dict):
    """Airflow's task state store."""

    set = dict.__setitem__


@pytest.fixture
def context():
    return {"task_state_store": Kept(), "ti": SimpleNamespace(try_number=2)}


@pytest.mark.parametrize(("kept", "path"), PATHS.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_class_that_airflow_keeps_by_its_path(kept, path):
    """Deferred tasks, serialized DAGs."""
    assert kept.__module__ == f"airflow_coordination.{path}"


def test_a_trigger_of_a_deferred_sensor():
    trigger = PartitionsTrigger("flights", "coordination_default", None, "claimable", 10, 30.0)
    path, arguments = trigger.serialize()
    assert path == "airflow_coordination.triggers.partitions.PartitionsTrigger"
    assert set(arguments) == {
        *("source", "coordination_conn_id", "partition_prefix", "poke_interval"),
        *("until", "max_hints", "on_parked", "on_idle"),
    }


def test_its_event():
    event = {"verdict": "ready", "message": "2 partitions", "hints": ["h"]}
    assert Conclusion(WaitVerdict.READY, "2 partitions", ["h"]).to_event() == event
    assert Conclusion.from_event(event).verdict is WaitVerdict.READY


def test_what_a_task_remembers_for_its_next_try(context):
    TaskMemory(context).remember("a", Fence(7, "nonce"))
    assert context["task_state_store"] == {"coordination": {"key": "a", "fence": "7-nonce", "reported": False}}


def test_what_a_sensor_remembers_for_its_next_look(context):
    RescheduleMemory(context).remember(Idleness(completed=1, waiting=2, parked=0, front=("x",), looks=1))
    still = {"completed": 1, "waiting": 2, "parked": 0, "front": ["x"], "looks": 1, "next_due": None}
    assert context["task_state_store"] == {"coordination_looks": {"try": 2, "still": still}}
