"""From a payload to what a reader opens."""

from __future__ import annotations

import pytest

from airflow_coordination import sources
from airflow_coordination.sources import object_paths, spark_paths


def test_one_object_and_a_group_have_paths() -> None:
    assert object_paths({"path": "s3a://b/x", "size": 1}) == ["s3a://b/x"]
    assert object_paths({"base": "s3a://b/in/", "names": ["x", "y"], "bytes": 2}) == ["s3a://b/in/x", "s3a://b/in/y"]


def test_spark_gets_names_not_patterns() -> None:
    assert spark_paths({"path": r"/a[1]{x}*?\.csv"}) == [r"/a\[1\]\{x\}\*\?\\.csv"]
    assert spark_paths({"base": "/in/", "names": ["a b|%.csv"]}) == ["/in/a b|%.csv"]


@pytest.mark.parametrize("name", sources.__all__)
def test_public_names_are_there_and_listed(name: str) -> None:
    rooms = ("airflow_coordination.systems.", "airflow_coordination.delivery.again.")
    assert getattr(sources, name).__module__.startswith(rooms)
    assert name in dir(sources)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'nats'"):
        _ = sources.nats  # type: ignore[attr-defined]
