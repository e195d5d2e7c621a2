"""A client of each engine, and a table of its own for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import boto3
import pytest
from botocore.config import Config

KEY = "sourcePartitionKey"


def connected(endpoint: str, region: str = "us-east-1") -> closing[Any]:
    """Return a low-level client that never repeats a request by itself, to be closed by ``with``."""
    config = Config(retries={"total_max_attempts": 1}, max_pool_connections=20)
    return closing(boto3.client("dynamodb", region_name=region, endpoint_url=endpoint, config=config))


@contextmanager
def new_table(client: Any, index: dict[str, Any] | None = None, *index_keys: str) -> Iterator[str]:
    """Give the name of a new table with one key; it is deleted at the end.

    :param index: description of a secondary index, if the table shall have one.
    :param index_keys: the key attributes of the index.
    """
    name = f"engines-{uuid.uuid4().hex}"
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": KEY, "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in (KEY, *index_keys)],
        BillingMode="PAY_PER_REQUEST",
        **({"GlobalSecondaryIndexes": [index]} if index else {}),
    )
    try:
        yield name
    finally:
        client.delete_table(TableName=name)


@pytest.fixture(params=[pytest.param("dynamodb_local", marks=pytest.mark.dynamodb), "moto_server"])
def engine(request: pytest.FixtureRequest) -> str:
    """Endpoint URL of DynamoDB Local, then of moto."""
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def client(engine: str) -> Iterator[Any]:
    """A client of the engine."""
    with connected(engine) as client:
        yield client


@pytest.fixture
def table(client: Any) -> Iterator[str]:
    """Name of a new table with one key."""
    with new_table(client) as name:
        yield name


@pytest.fixture
def local_client(dynamodb_local: str) -> Iterator[Any]:
    """A client of DynamoDB Local alone."""
    with connected(dynamodb_local) as client:
        yield client


@pytest.fixture
def local_table(local_client: Any) -> Iterator[str]:
    """Name of a new table in DynamoDB Local."""
    with new_table(local_client) as name:
        yield name
