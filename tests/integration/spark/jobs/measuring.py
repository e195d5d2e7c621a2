"""Says how far behind it is, before it saves and before it ends."""

from airflow_coordination.spark import Complete, partition_application


@partition_application
def main(spark, lease):
    lease.coordinator.counting.tell_behind(lease.partition.key, 5000)
    lease.save({"row": 1})
    lease.coordinator.counting.tell_behind(lease.partition.key, 0)
    return Complete()
