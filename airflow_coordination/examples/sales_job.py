"""The Spark side of the example: cleans one month of sales and publishes it."""

from __future__ import annotations

from typing import Any

from airflow_coordination.spark import Complete, partition_application


@partition_application
def main(spark: Any, lease: Any) -> Complete:
    """Publish the sales of a month that are worth something."""
    sales = spark.read.csv(lease.partition.payload["path"], header=True, schema="day date, amount int")
    with lease.publish("clean_sales") as block:  # a directory of this attempt alone
        sales.where("amount > 0").write.parquet(block.path)
    return Complete()  # ends the lease and publishes the block, in one step


if __name__ == "__main__":
    main()
