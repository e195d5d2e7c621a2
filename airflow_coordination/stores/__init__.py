"""Where partitions are kept: the store port's back ends, opened by address.

Importing this room is cheap; a back end and its client library are imported when a store is opened.
"""

from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.stores.locate import StoreConfig, open_store, parse_config

__all__ = ["PartitionStore", "StoreConfig", "open_store", "parse_config"]
