"""What ``read_range`` refuses before it asks anybody."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from airflow_coordination.leases import InvalidInputError
from airflow_coordination.spark import read_range


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"isolation": "serializable"}, r"isolation='serializable': is no isolation of Kafka"),
        (
            {"client_options": {"isolation.level": "read_uncommitted"}},
            r"client_options=.*sets isolation.level for one of",
        ),
        ({"spark_options": {"kafka.isolation.level": "read_uncommitted"}}, r"spark_options=.*Give isolation=… instead"),
        ({"spark_options": {"Kafka.Isolation.Level": "read_committed"}}, r"spark_options=.*for one of two clients"),
    ],
)
def test_d10_two_isolations_are_refused(options: dict, message: str) -> None:
    lease = SimpleNamespace(partition=SimpleNamespace(payload={"topic": "t", "partition": 0}))
    with pytest.raises(InvalidInputError, match=message):
        read_range(None, lease, "broker:9092", **options)
