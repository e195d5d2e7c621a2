"""The back ends of the store port, opened by address.

Importing this room is cheap; a back end and its client library are imported when a store is opened.
"""

from airflow_coordination.protocol.beside.parts import StoreParts
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores.config import StoreConfig, parse_config
from airflow_coordination.stores.opening import open_store

__all__ = ["PartitionStore", "StoreConfig", "StoreParts", "open_store", "parse_config"]
