"""Publishes one block of a hundred rows. Calls its function nowhere: the decorator runs it."""

from signs import here

from airflow_coordination.spark import Complete, partition_application


@partition_application
def main(spark, lease):
    with lease.publish("rows") as block:
        numbers(spark).write.parquet(block.path)
    here("written")
    return Complete()


def numbers(spark):
    return spark.range(100)
