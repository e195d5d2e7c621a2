"""Stops the session of its driver, as a program of its own would at its end."""

from airflow_coordination.spark import Complete, partition_application


@partition_application
def main(spark, lease):
    spark.stop()
    return Complete()


if __name__ == "__main__":
    main()
