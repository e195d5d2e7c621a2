"""An Airflow connection of type ``coordination``, read into one frozen value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from airflow.configuration import AIRFLOW_HOME

from airflow_coordination.hooks.amazon import AmazonAccess, for_driver, mask
from airflow_coordination.hooks.settings import SETTING_NAMES
from airflow_coordination.leases.handover import STORE_VARIABLE
from airflow_coordination.stores.addresses import plain_name, read_url, secrets_of
from airflow_coordination.stores.config import StoreConfig, parse_config
from airflow_coordination.stores.registry import scheme_of
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import agreed_prefix
from airflow_coordination.values.settings import check_known

if TYPE_CHECKING:
    from airflow.sdk import Connection

    from airflow_coordination.stores.dynamodb.options import DynamoDBOptions

CONNECTION_TYPE: Final = "coordination"
DEFAULT_CONNECTION: Final = "coordination_default"
_FIELDS: Final = frozenset({"source_coordination", "partition_prefix", "output_root", "aws_conn_id", "driver_secret"})
_SECRET_KEY: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?:[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class StoreConnection:
    """A store's place, and the rest of its connection, about the work on it.

    :param store: the store, with the partition prefix; may hold credentials.
    :param output_root: where partitions publish their blocks.
    :param settings: timers and limits by name; durations in seconds.
    :param embedded: whether it is the SQLite file that serves where no connection is defined.
    :param aws_conn_id: the connection of a store in DynamoDB to Amazon, and of a driver's S3.
    :param amazon: what that connection says, once it was looked up.
    :param driver_secret: the Kubernetes secret that holds the store for drivers there, as ``name:key``.
    """

    store: StoreConfig = field(repr=False)
    output_root: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    embedded: bool = False
    aws_conn_id: str | None = None
    amazon: AmazonAccess | None = None
    driver_secret: str | None = None

    def driver_environment(self) -> dict[str, str]:
        """Return what a driver on this host opens the store with, by its environment only: it may hold credentials.

        :raises SettingsError: when the AWS connection makes no sense or its role cannot be assumed.
        :raises StoreUnavailableError: when the service that gives the role's credentials does not answer.
        """
        options = dynamodb_options(self.store)
        amazon: dict[str, str] = {}
        if self.amazon is not None:
            amazon, options = for_driver(self.amazon, options)
        return {**amazon, STORE_VARIABLE: options.url if options else store_text(self.store)}


def embedded_connection() -> StoreConnection:
    """Return the store that serves one machine without any set-up: SQLite under ``AIRFLOW_HOME``."""
    path = Path(AIRFLOW_HOME).resolve() / "coordination.db"
    return StoreConnection(parse_config(f"sqlite:///{quote(str(path))}"), embedded=True)


def read_connection(connection: Connection) -> StoreConnection:
    """Return what ``connection`` says; its secrets are registered with Airflow's mask.

    :raises SettingsError: when it names no store, two, or an option that does not exist.
    """
    where = f"connection {connection.conn_id}"
    if connection.conn_type != CONNECTION_TYPE:
        raise SettingsError(where, connection.conn_type, "is the wrong connection type", f"Use {CONNECTION_TYPE!r}")
    extra = {name: value for name, value in connection.extra_dejson.items() if value not in (None, "")}
    check_known([*map(plain_name, extra)], _FIELDS | SETTING_NAMES, where)
    block, url = extra.get("source_coordination"), connection.host
    mask(connection.password, *secrets_of(block), *secrets_of(url))
    if bool(block) == bool(url):
        problem = "names two stores" if url else "names no store"
        raise SettingsError(
            where, "host", problem, "Set either its host to a store URL or its extra source_coordination"
        )
    store = parse_config(block or str(url))
    _check_unread(connection, store, where)
    store = _with_password(store, connection.password)
    dynamodb_options(store)
    settings = {name: extra[name] for name in SETTING_NAMES & extra.keys()}
    prefix = agreed_prefix(store.partition_prefix, extra.get("partition_prefix"))
    return StoreConnection(
        replace(store, partition_prefix=prefix),
        extra.get("output_root"),
        settings,
        aws_conn_id=extra.get("aws_conn_id"),
        driver_secret=_secret(extra.get("driver_secret"), where),
    )


def _check_unread(connection: Connection, store: StoreConfig, where: str) -> None:
    """Refuse what would change nothing, and nobody would know; not what only repeats the store's URL."""
    read = {"schema": "database", "login": "username", "port": "port"}
    given = {name: value for name in read if (value := getattr(connection, name))}
    url = read_url(store.url) if given and store.kind == "sql" else None
    for name, value in given.items():
        if url is None or str(getattr(url, read[name])) != str(value):
            remedy = "Write it into the URL in its host, or into its extra source_coordination"
            raise SettingsError(
                f"{where} {name}", "(given)", "is not read, and the store's URL does not say so", remedy
            )


def _secret(name: str | None, where: str) -> str | None:
    if name is not None and not _SECRET_KEY.fullmatch(str(name)):
        problem = "does not name a key of a Kubernetes secret"
        raise SettingsError(f"{where} driver_secret", name, problem, "Write it as NAME:KEY")
    return name


def dynamodb_options(store: StoreConfig) -> DynamoDBOptions | None:
    """Return the checked options of a store in DynamoDB, ``None`` for another.

    :raises SettingsError: naming the option that makes no sense.
    """
    if store.kind != "dynamodb":
        return None
    from airflow_coordination.stores.dynamodb.options import options_of

    return options_of(store.url, dict(store.options))


def store_text(store: StoreConfig) -> str:
    """Return what opens a store that is not in DynamoDB."""
    whole = {"store": {store.kind: {"url": store.url, **dict(store.options)}}}
    return json.dumps(whole) if store.options else store.url


def _with_password(store: StoreConfig, password: str | None) -> StoreConfig:
    """Return the store with the connection's password; Airflow then masks every secret of it in every log.

    :raises SettingsError: when the store's URL cannot be read, or says another password, without showing it.
    """
    mask(password, *secrets_of({"url": store.url, **dict(store.options)}))
    if store.kind in ("in_memory", "dynamodb") or not password:
        return store
    url = read_url(store.url)
    if scheme_of(store.url) == "sqlite":
        return store
    if {url.password, url.query.get("password")} - {None, "", password}:
        problem = "is said in the store's URL, too, and is another one there"
        raise SettingsError("password", "(not shown)", problem, "Leave it out of the URL")
    # without a user a password has no place before the host
    url = replace(url, password=password) if url.username else url.with_query({"password": password})
    return replace(store, url=url.text())
