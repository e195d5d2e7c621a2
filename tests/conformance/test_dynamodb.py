"""The conformance kit on DynamoDB: on moto, and on the vendor's own engine."""

from __future__ import annotations

from uuid import uuid4

import pytest

from airflow_coordination.stores import open_store
from airflow_coordination.testing.conformance import StoreConformance
from airflow_coordination.testing.conformance.kit import StoreFactory


def _factory(endpoint: str) -> StoreFactory:
    url = f"dynamodb://{uuid4().hex}?region=us-east-1&endpoint_url={endpoint}&billing_mode=on_demand"
    return lambda clock: open_store(url, clock=clock)


@pytest.mark.slow
class TestMoto(StoreConformance):
    @pytest.fixture
    def store_factory(self, moto_server: str) -> StoreFactory:
        return _factory(moto_server)


@pytest.mark.slow
class TestDynamoDBLocal(StoreConformance):
    @pytest.fixture
    def store_factory(self, dynamodb_local: str) -> StoreFactory:
        return _factory(dynamodb_local)
