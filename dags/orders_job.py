"""The Spark side of dags/orders_stream.py: what a shard has, up to its tip or its end."""

from pyspark.sql.functions import col, from_json

from airflow_coordination import partition_application
from airflow_coordination.spark import shard

ORDER = "id long, amount double"


@partition_application
def main(spark, lease):
    """Publish the orders of the shard that ``lease`` is for."""
    with shard(spark, lease, seconds=30, until_caught_up=True) as batches:
        for batch in batches:
            orders = batch.records.withColumn("order", from_json(col("data").cast("string"), ORDER))
            orders = orders.select("streamName", "shardId", "sequenceNumber", "subSequenceNumber", "order.*")
            with lease.publish("orders") as block:
                orders.write.parquet(block.path)
    return batches.outcome
