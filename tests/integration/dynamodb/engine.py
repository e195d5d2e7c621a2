"""An engine for tests, as a place for tables."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config

from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore
from airflow_coordination.stores.dynamodb.client import CONFIG
from airflow_coordination.values.times import Clock

REGION = "us-east-1"
PATIENT = CONFIG.merge(Config(connect_timeout=60, read_timeout=60))
"""The store's own, for tests that ask once: beside busy neighbours an engine is silent for more than five seconds."""


def patient_client(endpoint: str) -> Any:
    """Return a client as the store makes it, which waits longer."""
    return boto3.client("dynamodb", region_name=REGION, endpoint_url=endpoint, config=PATIENT)


@dataclass(frozen=True)
class Engine:
    """A server that speaks DynamoDB.

    :param endpoint: its address.
    :param client: one for all tests; making one costs more than most tests.
    """

    endpoint: str
    client: Any

    def options(self, table: str, **options: Any) -> DynamoDBOptions:
        """Return the options of a store on a table."""
        where = {"table_name": table, "region": REGION, "endpoint_url": self.endpoint, "billing_mode": "on_demand"}
        return DynamoDBOptions(**where | options)

    def store(self, table: str, clock: Clock | None = None, **options: Any) -> DynamoDBStore:
        """Return what a new process would have of a store; nothing is sent yet."""
        return DynamoDBStore(self.options(table, **options), clock, client=lambda _: self.client)

    def delete(self, table: str) -> None:
        """Delete a table, if it was made."""
        with suppress(self.client.exceptions.ResourceNotFoundException):
            self.client.delete_table(TableName=table)
