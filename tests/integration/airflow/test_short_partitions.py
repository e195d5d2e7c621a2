"""A task whose driver drains more partitions than anybody wants to read of, one by one, in its log."""

from __future__ import annotations

from collections import Counter

import pytest
import structlog

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.spark.reports import SINGLY
from airflow_coordination.stores import open_store
from airflow_coordination.submission.task_instance import MOST_KEYS
from airflow_coordination.submission.tenure_book import NAMED

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(400)]

PARTITIONS = SINGLY + 300
NOTHING = """
    from airflow_coordination.spark import Complete, partition_application

    @partition_application
    def main(spark, lease):
        return Complete()

    if __name__ == "__main__":
        main()
"""


def test_the_first_are_told_one_by_one_and_the_others_are_counted(process, store_url):
    from airflow.models.asset import AssetEvent
    from airflow.sdk import Asset
    from airflow.utils.session import create_session
    from sqlalchemy import select

    flights = SourceCoordinator(open_store(store_url), "flights", "test")
    flights.create_partitions([f"p{number:04}" for number in range(PARTITIONS)])
    with structlog.testing.capture_logs() as lines:
        ti = process(NOTHING, hint=None, max_leases=None, outlets=[Asset("short_partitions")])
    assert flights.counts()["COMPLETED"] == PARTITIONS
    told = ti.xcom_pull(task_ids="process", map_indexes=0)
    assert (told["completed"], len(told["partitions"]), told["more"]) == (PARTITIONS, NAMED, PARTITIONS - NAMED)
    assert ti.rendered_map_index == f"{PARTITIONS:,} partitions"
    with create_session() as session:
        [event] = session.scalars(select(AssetEvent).where(AssetEvent.source_run_id == ti.run_id))
    assert (len(event.extra["partitions"]), event.extra["more_partitions"]) == (MOST_KEYS, PARTITIONS - MOST_KEYS)
    said = Counter(line["event"] for line in lines)
    passed = [line["tenures"] for line in lines if line["event"] == "Short partitions were completed"]
    singly = said["The tenure has ended"]
    assert singly >= SINGLY
    assert said["The driver works on the partition"] == singly
    assert passed
    assert singly + sum(passed) == PARTITIONS
