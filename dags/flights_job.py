"""The Spark side of dags/flights.py: turns one month of flights from CSV into typed Parquet.

It starts again where the last attempt stopped: after every half month it saves how far it came, together with the
block it wrote. A crash loses nothing that was saved, and nothing counts twice.
"""

from datetime import timedelta

from pyspark.sql.functions import col

from airflow_coordination import Close, Complete, partition_application

SCHEMA = """
    year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int, sched_arr_time int,
    arr_delay int, carrier string, flight int, tailnum string, origin string, dest string, air_time int, distance int,
    hour int, minute int, time_hour timestamp
"""
HALVES = ((1, 15), (16, 31))


@partition_application
def main(spark, lease):
    """Publish the month that ``lease`` is for."""
    month = lease.partition.payload
    flights = spark.read.csv(month["path"], header=True, schema=SCHEMA, nullValue="NA")
    done = lease.progress_state or {"day": 0}
    for first, last in HALVES:
        if last <= done["day"]:
            continue  # an earlier attempt wrote and saved this half
        with lease.publish("flights") as block:
            flights.where(col("day").between(first, last)).coalesce(1).write.parquet(block.path)
        done = {"day": last}
        if month["newest"] and lease.partition.closed_count == 0:
            # The newest month may still grow: publish what is there, and come back for the rest.
            return Close(reopen_after=timedelta(seconds=20), state=done)
        lease.save(done)
    return Complete()
