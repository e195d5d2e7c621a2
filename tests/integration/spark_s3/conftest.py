"""One Spark session, shared with the other Spark tests, and the local S3."""

from __future__ import annotations

import pytest

from tests.integration.outputs_s3.local_s3 import bucket, keys, root, s3, uploads
from tests.integration.spark.conftest import spark, store, store_url, task

__all__ = ["bucket", "keys", "root", "s3", "spark", "store", "store_url", "task", "uploads"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/integration/spark_s3/"):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.timeout(400))


@pytest.fixture
def output_root(root: str) -> str:
    return root
