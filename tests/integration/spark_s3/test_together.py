"""Many leases in one Spark job on S3, where what was written is copied to where each lease's block lies."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from airflow_coordination import Complete
from airflow_coordination.outputs import collect
from tests.integration.spark.test_together import days, published, rows_of, run

__all__ = ["days", "run"]


def test_each_lease_has_its_own_files_and_nothing_is_left(run, days, spark, store, output_root, keys, uploads) -> None:
    def main(spark, leases):
        assert leases.publish("rows", rows_of(spark, "abcd"), by="key") == dict(
            zip("abcde", (3, 3, 3, 3, 0), strict=True)
        )
        leases.fail("b", "no header")
        return Complete()

    done = run(main, "days")
    assert (done.completed, done.failed) == (4, 1)
    assert published(spark, store, "days", "rows") == Counter(a=3, c=3, d=3)
    assert collect(store, "days", output_root, older_than=timedelta(0), dry_run=False).blocks == 1
    files = [key for key in keys() if key.endswith(".parquet")]
    assert len(files) == len({key.rpartition("/")[0] for key in files}) == 3
    assert not [key for key in keys() if "_lease=" in key]
    assert not uploads()
