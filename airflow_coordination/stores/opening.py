"""From a configuration to an open store. A back end and its client library are imported when one is opened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores.addresses import public_address
from airflow_coordination.stores.config import StoreConfig, parse_config
from airflow_coordination.stores.registry import registered_opener, scheme_of
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.times import Clock

if TYPE_CHECKING:
    from airflow_coordination.stores.in_memory import InMemoryStore

Opener = Callable[[StoreConfig, Clock | None], PartitionStore]
"""Opens the store of a configuration without contacting it. A clock replaces the store's own, for tests."""

_shared_memory: dict[str, InMemoryStore] = {}
_shared_memory_lock = threading.Lock()


def open_store(
    where: str | Mapping[str, Any] | StoreConfig | PartitionStore, *, clock: Clock | None = None
) -> PartitionStore:
    """Open a store; an open one is returned as it is. Nothing is contacted before its first use.

    :param where: see :func:`parse_config`. ``memory://`` is a new store, ``memory://name`` one shared in this process.
    :param clock: decides when leases end instead of the store's own clock, for tests.
    :return: the store. It carries the ``partition_prefix`` of its configuration: every coordinator, drain, reader and
        collector made on it has that as default, and refuses another one.
    :raises SettingsError: when it cannot be a store.
    """
    if not isinstance(where, str | Mapping | StoreConfig) and hasattr(where, "acquire_next"):
        return where
    config = parse_config(where)
    opener: Opener = OPENERS.get(scheme_of(config.url)) or registered_opener(config.url)
    store = opener(config, clock)
    if not hasattr(store, "acquire_next"):
        problem = f"was opened as {type(store).__name__}, which is no store"
        remedy = "Let the opener that its package registers return a PartitionStore"
        raise SettingsError("store", public_address(config.url), problem, remedy)
    store.partition_prefix = config.partition_prefix
    return store


def open_memory(config: StoreConfig, clock: Clock | None) -> PartitionStore:
    """Open ``memory://``, or ``memory://name``, which all who name it in this process share."""
    from airflow_coordination.stores.in_memory import InMemoryStore

    name = config.url.partition("://")[2]
    if not name:
        return InMemoryStore(clock=clock)
    with _shared_memory_lock:
        store = _shared_memory.setdefault(name, InMemoryStore(clock=clock))
        return store.shared() if config.partition_prefix else store


def open_sql(config: StoreConfig, clock: Clock | None) -> PartitionStore:
    """Open a store in SQLite or PostgreSQL."""
    from airflow_coordination.stores.sql.opening import open_sql_store

    return open_sql_store(config.url, dict(config.options), clock)


def open_dynamodb(config: StoreConfig, clock: Clock | None) -> PartitionStore:
    """Open a store in DynamoDB.

    :raises SettingsError: when boto3 is not installed.
    """
    try:
        from airflow_coordination.stores.dynamodb.options import options_of
        from airflow_coordination.stores.dynamodb.store import DynamoDBStore
    except ModuleNotFoundError as error:
        remedy = "Install it: pip install 'airflow-coordination[aws]'"
        raise SettingsError(
            "store", public_address(config.url), f"needs {error.name}, which is not installed", remedy
        ) from error

    return DynamoDBStore(options_of(config.url, dict(config.options)), clock)


OPENERS: Final[Mapping[str, Opener]] = {
    "dynamodb": open_dynamodb,
    "memory": open_memory,
    "postgresql": open_sql,
    "sqlite": open_sql,
}
"""Our own by scheme, as ``pyproject.toml`` declares them."""
