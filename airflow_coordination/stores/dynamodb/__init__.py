"""The ``dynamodb`` store: a table with Data Prepper's names, for many hosts."""

from airflow_coordination.stores.dynamodb.options import DynamoDBOptions
from airflow_coordination.stores.dynamodb.store import DynamoDBStore

__all__ = ["DynamoDBOptions", "DynamoDBStore"]
