"""The Spark side of dags/deliveries.py: one file to three places, and then the file is gone."""

import sys

from pyspark.sql.functions import concat_ws

from airflow_coordination import Complete, partition_application
from airflow_coordination.spark import DeadLetters, DeleteObjects, FileSink, Publish

SCHEMA = """
    year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int, sched_arr_time int,
    arr_delay int, carrier string, flight int, tailnum string, origin string, dest string, air_time int, distance int,
    hour int, minute int, time_hour string, malformed string
"""


@partition_application
def main(spark, lease):
    """Deliver the records of the file that ``lease`` is for."""
    path = lease.partition.payload["path"].replace("s3://", "s3a://")
    records = spark.read.csv(
        path, header=True, schema=SCHEMA, nullValue="NA", columnNameOfCorruptRecord="malformed", mode="PERMISSIVE"
    )
    records = records.withColumn("id", concat_ws("/", "time_hour", "carrier", "flight", "origin"))
    lease.deliver(
        records,
        key="id",
        sinks={
            "flights": Publish("delivered_flights"),
            "united": FileSink(sys.argv[1], where="carrier = 'UA'"),
        },
        dead_letters=DeadLetters("malformed_lines", where="malformed is not null"),  # before any sink is asked
    )
    # If a record did not arrive, this is a failure: nothing is published, and the file stays.
    return Complete(then=DeleteObjects.of(lease.partition))
