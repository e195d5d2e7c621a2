"""A session of boto3 that has read its models before processes are forked: reading them takes longer than the work."""

from __future__ import annotations

import boto3

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.stores.dynamodb.client import CONFIG
from airflow_coordination.stores.dynamodb.options import options_of
from tests.conftest import AMAZON

_SESSION = boto3.Session(
    aws_access_key_id=AMAZON["AWS_ACCESS_KEY_ID"], aws_secret_access_key=AMAZON["AWS_SECRET_ACCESS_KEY"]
)
_SESSION.client("dynamodb", region_name="us-east-1", endpoint_url="http://127.0.0.1:1")


def open_dynamodb(url: str) -> PartitionStore:
    """Open the store at ``url``."""
    options = options_of(url, {})
    client = _SESSION.client("dynamodb", region_name=options.region, endpoint_url=options.endpoint_url, config=CONFIG)
    return DynamoDBStore(options, client=lambda _: client)
