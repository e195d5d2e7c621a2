"""The work on one meter: take its readings, then come back for more in a minute."""

from datetime import timedelta

from airflow_coordination.spark import Close, partition_application


@partition_application
def main(spark, lease):
    """Count the readings since the last pass; the next one goes on from there."""
    first = (lease.progress_state or {"readings": 0})["readings"]
    taken = spark.range(first, first + 24).count()
    print(f"{lease.partition.key}: {taken} readings after the first {first}")
    return Close(reopen_after=timedelta(minutes=1), state={"readings": first + taken})


if __name__ == "__main__":
    main()
