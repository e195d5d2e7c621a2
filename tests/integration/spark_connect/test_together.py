"""One call for many leases in one Airflow task, on a real Spark Connect server."""

from __future__ import annotations

from airflow_coordination.spark import Complete, read_completed
from tests.integration.spark_connect.test_leased_pyspark import coordinator, process  # noqa: F401


def test_a_task_publishes_for_all_by_one_write(process, coordinator, store_url, session):  # noqa: F811
    def publish(spark, leases):
        rows = spark.createDataFrame([(key, n) for key in leases for n in range(4)], "key string, n long")
        assert leases.publish("squares", rows, by="key") == dict.fromkeys(leases, 4)
        return Complete()

    ti = process(publish, hints=["b"], max_leases=None, together=200)[0]
    assert ti.state == "success"
    pushed = ti.xcom_pull(task_ids="process", map_indexes=0)
    assert (pushed["completed"], pushed["rows"], pushed["partitions"][0]) == (3, 12, "b")
    rows = read_completed(session, store=store_url, source="numbers", dataset="squares").collect()
    assert sorted((row.key, row.n) for row in rows) == [(key, n) for key in "abc" for n in range(4)]
