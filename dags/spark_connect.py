"""Python functions as tasks on a Spark Connect server, each under the lease of a partition: how many primes there are.

One Spark Connect server serves all tasks, so that none of them starts a JVM: worth it where partitions are small. It
needs the connection ``spark_connect_default`` and ``[coordination] output_root`` on storage that tasks and server
reach.
"""

from datetime import timedelta

from airflow.sdk import DAG, task

from airflow_coordination import PartitionIdentifier
from airflow_coordination.operators import CreatePartitionsOperator
from airflow_coordination.sensors import PartitionsSensor
from airflow_coordination.spark import Complete


def ranges(state):
    """Return three ranges of numbers."""
    return [PartitionIdentifier(f"{n}-{n + 999}", payload={"from": n, "to": n + 1000}) for n in (1000, 2000, 3000)]


@task.leased_pyspark(source="primes", retries=3, retry_delay=timedelta(seconds=10))
def count_primes(spark, lease):
    numbers = lease.partition.payload
    prime = "not exists(sequence(2, cast(sqrt(id) as int)), divisor -> id % divisor = 0)"
    counted = spark.range(numbers["from"], numbers["to"]).where(prime).selectExpr("count(*) as primes")
    with lease.publish("primes") as block:
        counted.selectExpr(f"'{lease.partition.key}' as numbers", "primes").write.parquet(block.path)
    return Complete()


with DAG("spark_connect", schedule=None, catchup=False, max_active_runs=1, doc_md=__doc__):
    create = CreatePartitionsOperator(task_id="create_partitions", source="primes", supplier=ranges)
    ready = PartitionsSensor(task_id="ready", source="primes")
    finished = PartitionsSensor(
        task_id="finished", source="primes", until="completed", trigger_rule="all_done_min_one_success"
    )
    create >> ready
    [create, count_primes.expand(hint=ready.output)] >> finished
