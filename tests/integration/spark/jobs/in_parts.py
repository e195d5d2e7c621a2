"""Publishes three blocks of ten rows, saving after each; resumes after the last saved one."""

from signs import here

from airflow_coordination.spark import Complete, partition_application


@partition_application
def main(spark, lease):
    done = (lease.progress_state or {"parts": 0})["parts"]
    here(f"started at {done}")
    for part in range(done, 3):
        with lease.publish("rows") as block:
            spark.range(part * 10, part * 10 + 10).write.parquet(block.path)
        here(f"written {part}")
        lease.save({"parts": part + 1})
        here(f"saved {part}")
    return Complete()


if __name__ == "__main__":
    main()
