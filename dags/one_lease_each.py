"""One mapped Spark task for each partition: the plain way, and the first to choose.

``ready`` waits until something can be worked on and returns a hint for each such partition, ``process`` is expanded
over them, and each of its instances submits one Spark application for one lease: the grid shows each sensor by its
name, a pool says how many run at once, and clearing an instance works on its partition again. What is left over,
because another run took it or because there are more than ``[core] max_map_length``, is the next run's.

Let tasks drain several leases each (``max_leases=None``, as in the other examples) when there are more partitions than
one scheduler starts tasks for, or when the 8 to 9 seconds of each application's start are longer than its work.
"""

from pathlib import Path

from airflow.sdk import DAG

from airflow_coordination.operators import CreatePartitionsOperator, LeasedSparkSubmitOperator
from airflow_coordination.sensors import PartitionsSensor


def sensors(state):
    """Return the keys of all sensors."""
    return ["east", "west"]


with DAG("one_lease_each", schedule="@hourly", catchup=False, max_active_runs=1, default_args={"source": "sensors"}):
    create = CreatePartitionsOperator(task_id="create_partitions", supplier=sensors)
    ready = PartitionsSensor(task_id="ready")
    process = LeasedSparkSubmitOperator.partial(
        task_id="process", application=str(Path(__file__).with_name("readings_job.py")), conn_id="spark_default"
    ).expand(hint=ready.output)
    none_parked = PartitionsSensor(
        task_id="none_parked", until="completed", wait=False, trigger_rule="all_done_min_one_success"
    )
    create >> ready
    [create, process] >> none_parked
