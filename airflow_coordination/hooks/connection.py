"""What an Airflow connection of type ``coordination`` says, as one frozen value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from airflow.configuration import AIRFLOW_HOME
from airflow.sdk.log import mask_secret
from sqlalchemy.engine import make_url

from airflow_coordination.hooks.settings import SETTING_NAMES
from airflow_coordination.leases.errors import SettingsError
from airflow_coordination.leases.settings import check_known
from airflow_coordination.stores import StoreConfig, parse_config

if TYPE_CHECKING:
    from airflow.sdk import Connection

CONNECTION_TYPE: Final = "coordination"
DEFAULT_CONNECTION: Final = "coordination_default"
_FIELDS: Final = frozenset({"source_coordination", "partition_prefix", "output_root"})


@dataclass(frozen=True, slots=True)
class StoreConnection:
    """Where a store is, and what its connection says about the work on it.

    :param store: the store; may hold credentials.
    :param partition_prefix: keeps deployments that share a store apart.
    :param output_root: where partitions publish their blocks.
    :param settings: timers and limits by name; durations in seconds.
    :param embedded: whether it is the SQLite file that serves where no connection is defined.
    """

    store: StoreConfig = field(repr=False)
    partition_prefix: str | None = None
    output_root: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    embedded: bool = False

    @property
    def store_text(self) -> str:
        """The store as text for the environment of a driver on this host; may hold credentials."""
        if not self.store.options:
            return self.store.url
        return json.dumps({"store": {self.store.kind: {"url": self.store.url, **dict(self.store.options)}}})


def embedded_connection() -> StoreConnection:
    """Return the store that serves one machine without any set-up: SQLite under ``AIRFLOW_HOME``."""
    path = Path(AIRFLOW_HOME).resolve() / "coordination.db"
    return StoreConnection(parse_config(f"sqlite:///{path}"), embedded=True)


def read_connection(connection: Connection) -> StoreConnection:
    """Return what ``connection`` says; its secrets are registered with Airflow's mask.

    :raises SettingsError: when it names no store, two, or an option that does not exist.
    """
    where = f"connection {connection.conn_id}"
    if connection.conn_type != CONNECTION_TYPE:
        raise SettingsError(where, connection.conn_type, "is the wrong connection type", f"Use {CONNECTION_TYPE!r}")
    extra = {name: value for name, value in connection.extra_dejson.items() if value not in (None, "")}
    check_known(extra, _FIELDS | SETTING_NAMES, where)
    block, url = extra.get("source_coordination"), connection.host
    if bool(block) == bool(url):
        problem = "names two stores" if url else "names no store"
        raise SettingsError(
            where, "host", problem, "Set either its host to a store URL or its extra source_coordination"
        )
    store = _with_password(parse_config(block or str(url)), connection.password)
    settings = {name: extra[name] for name in SETTING_NAMES & extra.keys()}
    prefix = extra.get("partition_prefix") or store.partition_prefix
    return StoreConnection(store, prefix, extra.get("output_root"), settings)


def _with_password(store: StoreConfig, password: str | None) -> StoreConfig:
    """Return the store with the connection's password, which Airflow then masks in every log."""
    if store.kind != "sql":
        return store
    url = make_url(store.url)
    if password and url.host:
        url = url.set(password=password)
    if url.password:
        mask_secret([str(url.password), quote(str(url.password), safe=" ")])
    return replace(store, url=url.render_as_string(hide_password=False))
