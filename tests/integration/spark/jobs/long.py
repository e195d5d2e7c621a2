"""A Spark job that takes minutes, inside an open block."""

import time

from signs import here

from airflow_coordination.spark import Complete, partition_application


def slowly(rows):
    here("running")
    for row in rows:
        time.sleep(600)
        yield row


@partition_application
def main(spark, lease):
    with lease.publish("rows") as block:
        spark.range(3).rdd.mapPartitions(slowly).toDF().write.parquet(block.path)
    return Complete()


if __name__ == "__main__":
    main()
