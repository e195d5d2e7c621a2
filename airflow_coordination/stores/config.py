"""From a URL or the seed's ``source_coordination`` object to a store's configuration, without opening anything."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Never

from airflow_coordination.stores.addresses import NOT_SHOWN, is_meant_as_address, plain_name, public_address, secrets_of
from airflow_coordination.stores.registry import OWN_URLS, is_registered, registered_schemes, scheme_of, unregistered
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.scrubbing import know
from airflow_coordination.values.settings import check_known
from airflow_coordination.values.times import LONGEST

COORDINATION_OPTIONS: Final = ("partition_prefix", "store")
SQL_OPTIONS: Final = ("url", "connect_timeout", "statement_timeout", "pool_size", "schema", "history_retention")
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

_KINDS: Final = {"memory": "in_memory", "sqlite": "sql", "postgresql": "sql", "dynamodb": "dynamodb"}
"""Data Prepper's names of our own stores by scheme. One from elsewhere has its scheme for a name."""
_OPTIONS: Final[dict[str, tuple[str, ...]]] = {"in_memory": (), "sql": SQL_OPTIONS, "dynamodb": DYNAMODB_OPTIONS}
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S*")
_OUTER: Final = "source_coordination"


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """The address of a store, as one frozen value.

    :param kind: the back end: ``in_memory``, ``sql``, ``dynamodb``, or the scheme of a store from elsewhere.
    :param url: its URL; ``memory://`` for a new store in this process.
    :param options: the other options, as sorted pairs.
    :param partition_prefix: keeps deployments that share a store apart (Data Prepper: ``partition_prefix``).
    """

    kind: str
    url: str = field(repr=False)
    options: tuple[tuple[str, Any], ...] = field(default=(), repr=False)
    partition_prefix: str | None = None

    def __reduce__(self) -> Never:
        raise TypeError(
            "A StoreConfig may hold a password and is not pickled; send what names the store, and read it there"
        )


def _wrong_url(url: str, problem: str) -> SettingsError:
    return SettingsError("store", _plain(url), problem, f"Use {OWN_URLS}")


def _plain(text: str) -> str:
    """Return ``text`` if it is one word, or what may be shown of an address."""
    return text if re.fullmatch(r"[\w.-]*", text.strip()) else public_address(text)


def _from_url(url: str) -> StoreConfig:
    if "://" not in url:
        raise _wrong_url(url, "is not the URL of a store")
    scheme = scheme_of(url)
    if scheme not in _KINDS and not is_registered(scheme):
        raise unregistered(url)
    return StoreConfig(_KINDS.get(scheme, scheme), url)


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
    check_known([*map(plain_name, stores)], _names(stores), f"{_OUTER}.store")
    if len(stores) != 1:
        raise SettingsError(
            f"{_OUTER}.store", sorted(stores), "does not name one store", f"Name one of {', '.join(_OPTIONS)}"
        )
    [(kind, given)] = stores.items()
    options = _object(given, f"{_OUTER}.store.{kind}")
    if kind in _OPTIONS:
        check_known([*map(plain_name, options)], _OPTIONS[kind], f"{_OUTER}.store.{kind}")
    _check_plain(options, f"{_OUTER}.store.{kind}")
    return StoreConfig(kind, _url_of(kind, options), tuple(sorted(_rest(options).items())), prefix)


def _names(given: Mapping[str, Any]) -> list[str]:
    """Return the names that a store may have; the packages are only asked when one is not ours."""
    return [*_OPTIONS, *(registered_schemes() if given.keys() - _OPTIONS.keys() else ())]


def _check_plain(options: Mapping[Any, Any], where: str) -> None:
    """Refuse options that a configuration, a value like any other, cannot hold."""
    for name, value in options.items():
        if not isinstance(name, str) or not isinstance(value, str | int | float | timedelta | None):
            remedy = "Give a text, a number, true or false"
            raise SettingsError(f"{where}.{plain_name(name)}", type(value).__name__, "is no plain value", remedy)


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


def _url_of(kind: str, options: Mapping[str, Any]) -> str:
    if kind == "in_memory":
        return "memory://"
    if kind == "dynamodb":
        return f"dynamodb://{options.get('table_name') or ''}"
    url = options.get("url") if kind == "sql" else options.get("url", f"{kind}://")
    if not isinstance(url, str):
        kind_of = type(url).__name__
        raise SettingsError(f"{_OUTER}.store.{kind}.url", kind_of, "is missing or no text", "Give the database's URL")
    if _from_url(url).kind == kind:
        return url
    if kind == "sql":
        raise _wrong_url(url, "is not the URL of an SQL database")
    raise SettingsError(f"{_OUTER}.store.{kind}.url", _plain(url), f"is not a URL of {kind}", f"Write {kind}://…")


def parse_config(where: object) -> StoreConfig:
    """Return the configuration in ``where``, without opening anything.

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


OPTION: Final = "history_retention"
OFF: Final = "off"
_OFF: Final = (OFF, "false")
"""YAML reads a bare ``off`` as false."""
DEFAULT: Final = timedelta(days=30)

_REMEDY: Final = f"Give whole days, such as {OPTION}={DEFAULT.days}, or {OPTION}={OFF}"


def retention_of(given: object) -> timedelta | None:
    """Return how long ended tenures are remembered, ``None`` = not at all.

    :param given: days, as a number or a text, or ``off``; ``None`` = 30 days.
    :raises SettingsError: when it is something else.
    """
    if given is None:
        return DEFAULT
    if str(given).strip().lower() in _OFF:
        return None
    try:
        days = int(str(given))
    except ValueError:
        raise SettingsError(f"store.{OPTION}", given, "is no number of days", _REMEDY) from None
    if not 0 < days <= LONGEST.days:
        raise SettingsError(f"store.{OPTION}", given, f"is not between 1 and {LONGEST.days} days", _REMEDY)
    return timedelta(days=days)
