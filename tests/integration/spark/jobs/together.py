"""Publishes ten rows for each of many partitions by one Spark job, which a test may hold after it is done."""

from signs import here

from airflow_coordination.spark import Complete, partition_application


@partition_application
def main(spark, leases):
    here("called for " + " ".join(leases))
    rows = spark.createDataFrame([(key, number) for key in leases for number in range(10)], "key string, id long")
    counts = leases.publish("rows", rows, by="key")
    assert counts == dict.fromkeys(leases, 10)
    here("written")
    return Complete()


if __name__ == "__main__":
    main()
