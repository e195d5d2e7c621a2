"""Saves one block, then hangs in the second when one of its two files is written."""

import time

from signs import here

from airflow_coordination.spark import Complete, partition_application


def slowly(rows):
    for row in rows:
        if row.id == 15:
            here("half written")
            time.sleep(600)
        yield row


@partition_application
def main(spark, lease):
    with lease.publish("rows") as block:
        spark.range(10).write.parquet(block.path)
    lease.save({"parts": 1})
    with lease.publish("rows") as block:
        spark.range(10, 20, 1, 2).rdd.mapPartitions(slowly).toDF("id long").write.parquet(block.path)
    return Complete()


if __name__ == "__main__":
    main()
