"""The work as a decorated script: on one partition, or on as many as its task lets it."""

from work import write

from airflow_coordination import Complete, partition_application


@partition_application
def main(spark, lease):
    """Publish a partition's file."""
    with lease.publish("numbers") as block:
        write(spark, block.path)
    return Complete()


if __name__ == "__main__":
    main()
