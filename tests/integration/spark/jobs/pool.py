"""Publishes two blocks of ten rows for each partition, saving after each, in Spark jobs that a test may hold."""

from signs import here

from airflow_coordination.spark import Complete, partition_application


@partition_application
def main(spark, lease):
    key = lease.partition.key
    done = (lease.progress_state or {"parts": 0})["parts"]
    here(f"{key} started at {done}")
    here(f"{key} in pool {spark.sparkContext.getLocalProperty('spark.scheduler.pool')}")
    if key == "stops":
        spark.stop()
        return Complete()
    for part in range(done, 2):
        with lease.publish("rows") as block:
            numbers = spark.range(part * 10, part * 10 + 10).rdd.mapPartitions(held_at(f"{key} running {part}"))
            numbers.map(lambda row, key=key: (key, row.id)).toDF(["key", "id"]).write.parquet(block.path)
        lease.save({"parts": part + 1})
    return Complete()


def held_at(name):
    """Return a function for an executor that says where it is, and goes on when the test lets it."""

    def pass_on(rows):
        here(name)
        yield from rows

    return pass_on


if __name__ == "__main__":
    main()
