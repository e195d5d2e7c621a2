"""Which sensor a skipped task would silence (A1)."""

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from airflow_coordination.operators import LeasedSparkSubmitOperator
from airflow_coordination.operators.leased_operator import silenced_by
from airflow_coordination.sensors import PartitionsSensor

SILENCED = ["all_success", "all_done_min_one_success", "none_skipped", "one_success", "none_failed_min_one_success"]
LOOKS = ["all_done", "always", "none_failed"]


def work():
    return LeasedSparkSubmitOperator(task_id="process", source="flights", application="job.py", on_empty="skip")


def sensor(**arguments):
    return PartitionsSensor(task_id="done", source="flights", until="completed", **arguments)


@pytest.mark.parametrize(("rule", "found"), [*((rule, "done") for rule in SILENCED), *((rule, None) for rule in LOOKS)])
def test_a1_a_sensor_is_silenced_unless_its_rule_lets_it_look(rule, found):
    """A1."""
    with DAG("d", schedule=None):
        process = work()
        process >> sensor(trigger_rule=rule)
    assert silenced_by(process) == found


@pytest.mark.parametrize(("rule", "found"), [("all_success", "done"), ("all_done", None)])
def test_a1_a_sensor_is_silenced_through_another_task(rule, found):
    """A1."""
    with DAG("d", schedule=None):
        process = work()
        process >> EmptyOperator(task_id="between", trigger_rule=rule) >> sensor()
    assert silenced_by(process) == found


def test_a1_a_mapped_sensor_is_one_too():
    """A1."""
    with DAG("d", schedule=None):
        process = work()
        process >> PartitionsSensor.partial(task_id="done", until="completed").expand(source=["a", "b"])
    assert silenced_by(process) == "done"


def test_a1_no_other_task_is_looked_for():
    """A1."""
    with DAG("d", schedule=None):
        process = work()
        process >> EmptyOperator(task_id="after")
        sensor() >> process
    assert silenced_by(process) is None
