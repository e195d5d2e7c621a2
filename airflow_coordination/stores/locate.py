"""From what a user writes to an open store: URLs and the seed's ``source_coordination`` object."""

from __future__ import annotations

import difflib
import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Never, cast

from airflow_coordination.leases.clock import Clock
from airflow_coordination.leases.errors import SettingsError
from airflow_coordination.leases.known_secrets import know
from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.leases.settings import check_known
from airflow_coordination.stores.addresses import NOT_SHOWN, is_meant_as_address, plain_name, public_address, secrets_of

if TYPE_CHECKING:
    from airflow_coordination.stores.in_memory import InMemoryStore

Kind = Literal["in_memory", "sql", "dynamodb"]

COORDINATION_OPTIONS: Final = ("partition_prefix", "store")
SQL_OPTIONS: Final = ("url", "connect_timeout", "statement_timeout", "pool_size", "schema")
DYNAMODB_OPTIONS: Final = (
    "table_name",
    "region",
    "sts_role_arn",
    "sts_external_id",
    "skip_table_creation",
    "provisioned_write_capacity_units",
    "provisioned_read_capacity_units",
    "ttl",
    "billing_mode",
    "endpoint_url",
)
"""Data Prepper's own, all eight of them, and two of ours."""

_OPTIONS: Final[dict[Kind, tuple[str, ...]]] = {"in_memory": (), "sql": SQL_OPTIONS, "dynamodb": DYNAMODB_OPTIONS}
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S*")
_OUTER: Final = "source_coordination"
_shared_memory: dict[str, InMemoryStore] = {}
_shared_memory_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """Where a store is, as one frozen value.

    :param kind: which back end: ``in_memory``, ``sql`` or ``dynamodb``.
    :param url: its URL; ``memory://`` for a new store in this process.
    :param options: what else was configured, as sorted pairs.
    :param partition_prefix: keeps deployments that share a store apart (Data Prepper: ``partition_prefix``).
    """

    kind: Kind
    url: str = field(repr=False)
    options: tuple[tuple[str, Any], ...] = field(default=(), repr=False)
    partition_prefix: str | None = None

    def __reduce__(self) -> Never:
        raise TypeError(
            "A StoreConfig may hold a password and is not pickled; send what names the store, and read it there"
        )


def _wrong_url(url: str, problem: str) -> SettingsError:
    return SettingsError(
        "store",
        _plain(url),
        problem,
        "Use sqlite:////path.db, postgresql+psycopg://user@host/database, dynamodb://TABLE?region=…, memory:// or a "
        "source_coordination object",
    )


def _plain(text: str) -> str:
    """Return ``text`` if it is one word, or what may be shown of an address."""
    return text if re.fullmatch(r"[\w.-]*", text.strip()) else public_address(text)


def _from_url(url: str) -> StoreConfig:
    scheme = url.partition("://")[0].lower()
    kinds: dict[str, Kind] = {"memory": "in_memory", "sqlite": "sql", "postgresql": "sql", "dynamodb": "dynamodb"}
    kind = kinds.get(scheme.partition("+")[0])
    if "://" not in url or kind is None:
        raise _wrong_url(url, "is not the URL of a store")
    return StoreConfig(kind, url)


def _from_text(text: str) -> StoreConfig:
    if _URL.fullmatch(text.strip()):
        return _from_url(text.strip())
    if is_meant_as_address(text):
        raise _wrong_url(NOT_SHOWN, "holds blanks or quotes, which no URL does; write a blank as %20")
    return _from_mapping(_load(text))


def _load(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = _load_yaml(text)
    if not isinstance(value, Mapping):
        raise _wrong_url(text, "is neither a URL nor a source_coordination object")
    return value


def _load_yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise _wrong_url(text, "is no JSON, and PyYAML is not installed to read it as YAML") from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:  # its message quotes the text
        raise _wrong_url(text, "is neither a URL nor JSON nor YAML") from None


def _object(value: object, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise SettingsError(
            where, _plain(str(value)), f"is {type(value).__name__}, not an object", "Write its options below it"
        )
    return value


def _from_mapping(mapping: Mapping[str, Any]) -> StoreConfig:
    """Read the seed's object, with or without its outer key; ``data-prepper-config.yaml`` has others beside it."""
    know(secrets_of(mapping))
    if _OUTER in mapping:
        mapping = _object(mapping[_OUTER], _OUTER)
    else:
        _check_outer(mapping)
    check_known([*map(plain_name, mapping)], COORDINATION_OPTIONS, _OUTER)
    prefix = mapping.get("partition_prefix")
    _check_prefix(prefix)
    stores = _object(mapping.get("store", {"in_memory": None}), f"{_OUTER}.store")
    check_known([*map(plain_name, stores)], list(_OPTIONS), f"{_OUTER}.store")
    if len(stores) != 1:
        raise SettingsError(
            f"{_OUTER}.store", sorted(stores), "does not name one store", f"Name one of {', '.join(_OPTIONS)}"
        )
    [(name, given)] = stores.items()
    kind = cast(Kind, name)
    options = _object(given, f"{_OUTER}.store.{kind}")
    check_known([*map(plain_name, options)], _OPTIONS[kind], f"{_OUTER}.store.{kind}")
    return StoreConfig(kind, _url_of(kind, options), tuple(sorted(_rest(options).items())), prefix)


def _check_outer(mapping: Mapping[str, Any]) -> None:
    """Name a misspelt outer key; the keys beside it, in a whole file, are not the mistake."""
    for name in difflib.get_close_matches(_OUTER, map(str, mapping), n=1, cutoff=0.8):
        raise SettingsError(name, name, "is not known here", f"Did you mean {_OUTER!r}?")


def _check_prefix(prefix: object) -> None:
    """Refuse what is no prefix.

    Data Prepper takes a number for the text that stands there, which YAML and JSON do not tell us (``012`` is 10), and
    an empty text for a prefix, which makes identifiers that begin with the separator.
    """
    if prefix is None or (isinstance(prefix, str) and prefix):
        return
    where = f"{_OUTER}.partition_prefix"
    if prefix == "":
        raise SettingsError(where, prefix, "is empty, which no source here can have", "Leave it out, or give a name")
    if not isinstance(prefix, int | float):
        raise SettingsError(where, f"<{type(prefix).__name__}>", "is not a text", "Give a short name, or leave it out")
    problem = "is not a text; Data Prepper takes what is written there for one"
    raise SettingsError(where, prefix, problem, f"Write it in quotes, such as {str(prefix)!a}, or leave it out")


def _rest(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "url"}


def _url_of(kind: Kind, options: Mapping[str, Any]) -> str:
    if kind == "in_memory":
        return "memory://"
    if kind == "dynamodb":
        return f"dynamodb://{options.get('table_name') or ''}"
    url = options.get("url")
    if not isinstance(url, str):
        kind_of = type(url).__name__
        raise SettingsError(f"{_OUTER}.store.sql.url", kind_of, "is missing or no text", "Give the database's URL")
    if _from_url(url).kind != "sql":
        raise _wrong_url(url, "is not the URL of an SQL database")
    return url


def parse_config(where: object) -> StoreConfig:
    """Return what ``where`` says, without opening anything.

    :param where: a URL, the seed's ``source_coordination`` object as a mapping or as JSON or YAML text (with or
        without its outer key, also inside a whole ``data-prepper-config.yaml``), or a config.
    :raises SettingsError: when it is something else; unknown keys name their nearest known neighbour.
    """
    if isinstance(where, StoreConfig):
        return where
    know(secrets_of(where))
    if isinstance(where, str):
        return _from_text(where)
    if isinstance(where, Mapping):
        return _from_mapping(where)
    kind_of = type(where).__name__
    raise SettingsError("store", kind_of, "is no place of a store", "Give a URL or a source_coordination object")


def _open_memory(config: StoreConfig, clock: Clock | None) -> PartitionStore:
    from airflow_coordination.stores.in_memory import InMemoryStore

    name = config.url.partition("://")[2]
    if not name:
        return InMemoryStore(clock=clock)
    with _shared_memory_lock:
        store = _shared_memory.setdefault(name, InMemoryStore(clock=clock))
        return store.shared() if config.partition_prefix else store


def _open_sql(config: StoreConfig, clock: Clock | None) -> PartitionStore:
    from airflow_coordination.stores.sql import open_sql_store

    return open_sql_store(config.url, dict(config.options), clock)


def _open_dynamodb(config: StoreConfig, clock: Clock | None) -> PartitionStore:
    try:
        from airflow_coordination.stores.dynamodb import DynamoDBStore
        from airflow_coordination.stores.dynamodb.options import options_of
    except ModuleNotFoundError as error:
        remedy = "Install it: pip install 'airflow-coordination[amazon]'"
        raise SettingsError(
            "store", public_address(config.url), f"needs {error.name}, which is not installed", remedy
        ) from error

    return DynamoDBStore(options_of(config.url, dict(config.options)), clock)


_OPENERS: Final[dict[Kind, Callable[[StoreConfig, Clock | None], PartitionStore]]] = {
    "in_memory": _open_memory,
    "sql": _open_sql,
    "dynamodb": _open_dynamodb,
}


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
    store = _OPENERS[config.kind](config, clock)
    store.partition_prefix = config.partition_prefix
    return store
