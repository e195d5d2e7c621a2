"""The conformance kit on DynamoDB: on moto, and on the vendor's own engine."""

from __future__ import annotations

from functools import cache
from typing import Any
from uuid import uuid4

import pytest

from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore
from airflow_coordination.testing.conformance import StoreConformance
from airflow_coordination.testing.conformance.kit import StoreFactory
from tests.integration.dynamodb.engine import patient_client

pytestmark = [pytest.mark.slow]


@cache
def _client(endpoint: str) -> Any:
    """One client for all tests on an engine: making one takes longer than most tests."""
    return patient_client(endpoint)


def _factory(endpoint: str) -> StoreFactory:
    options = DynamoDBOptions(
        table_name=uuid4().hex, region="us-east-1", endpoint_url=endpoint, billing_mode="on_demand"
    )
    return lambda clock: DynamoDBStore(options, clock, client=lambda _: _client(endpoint))


@pytest.mark.long
class TestMoto(StoreConformance):
    writers = 2  # a lock before moto lets one request in at a time: more of them only wait longer

    @pytest.fixture
    def store_factory(self, moto_server: str) -> StoreFactory:
        return _factory(moto_server)


class TestDynamoDBLocal(StoreConformance):
    @pytest.fixture
    def store_factory(self, dynamodb_local: str) -> StoreFactory:
        return _factory(dynamodb_local)
