"""Addresses of stores and databases: their grammar, the secrets in them, and their public part.

Both work on any text, for what is misspelt is what gets printed. An address is shown when every part of it is known to
be what it seems; of anything else, the scheme.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_plus

from airflow_coordination.values.input_errors import SettingsError

NOT_SHOWN: Final = "(not shown)"
_SECRET_NAME: Final = re.compile("passw|pwd|secret|token|external_id|access_key", re.IGNORECASE)
_SCHEME: Final = re.compile(r"\s*['\"]?([A-Za-z][A-Za-z0-9+.-]{0,40})://")
_ADDRESS: Final = re.compile(
    r"""(?x) (?P<scheme> [A-Za-z][A-Za-z0-9+.-]* ://)
    (?: (?P<user> [^\s:/?\#@]*) (?: : (?P<password> [^@]*) )? (?P<at> @) )?
    (?P<place> (?: [\w.,-]* | \[[0-9A-Fa-f:.%]*\] ) (?: :\d+ )? (?: / [^\s?@]* )? )
    (?: \? (?P<query> [^\s]*) )?"""
)
_FILE: Final = re.compile(r"sqlite(?:\+\w+)?:///")
_OPTION: Final = re.compile(r"[A-Za-z_]\w*=[^@]*")


def public_address(address: str) -> str:
    """Return ``address`` without secrets, for messages; of what is no proper address, no more than the scheme."""
    if _FILE.match(address):
        return address.partition("?")[0]
    parts = _ADDRESS.fullmatch(address)
    if parts is None:
        scheme = _SCHEME.match(address)
        return f"{scheme[1]}://{NOT_SHOWN}" if scheme else NOT_SHOWN
    user = (parts["user"] + parts["at"]) if parts["at"] else ""
    kept = [part for part in (parts["query"] or "").split("&") if part and _is_public(part)]
    return f"{parts['scheme']}{user}{parts['place']}" + (f"?{'&'.join(kept)}" if kept else "")


def has_secret(address: str) -> bool:
    """Return whether an address carries a secret, or may do so, because it cannot be understood."""
    return not _FILE.match(address) and public_address(address) != address


def secrets_in(address: str) -> Iterator[str]:
    """Yield what may be a secret in ``address``, as it is written and decoded; also if it is misspelt."""
    rest = address.partition("://")[2]
    credentials, at, _ = rest.rpartition("@")
    if at:
        for end in {credentials, rest.partition("@")[0]}:
            yield from _both(end.partition(":")[2])
    for part in re.split("[?&]", rest)[1:]:
        name, _, value = part.partition("=")
        if _SECRET_NAME.search(name):
            yield from _both(value)
        elif "@" in unquote(value):
            yield from secrets_in(unquote(value))


def secrets_of(value: object, name: str = "") -> Iterator[str]:
    """Yield what may be a secret in a configuration, be it an address or an object with addresses and options in it."""
    if isinstance(value, Mapping):
        for inner, each in value.items():
            yield from secrets_of(inner)
            yield from secrets_of(each, str(inner))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from secrets_of(each, name)
    elif isinstance(value, str):
        if _SECRET_NAME.search(name):
            yield value
        if _SCHEME.match(value):
            yield from secrets_in(value)


def is_meant_as_address(text: str) -> bool:
    """Return whether ``text`` begins as an address does."""
    return _SCHEME.match(text) is not None


def plain_name(name: object) -> str:
    """Return the name of an option as a message may show it: a text that only seems to be one may be an address."""
    return name if isinstance(name, str) and re.fullmatch(r"[\w.-]{1,64}", name) else NOT_SHOWN


def _is_public(option: str) -> bool:
    return bool(_OPTION.fullmatch(unquote(option))) and not _SECRET_NAME.search(option.partition("=")[0])


def _both(text: str) -> Iterator[str]:
    if text:
        yield text
        yield unquote_plus(text)


_URL: Final = re.compile(
    r"""(?x) (?P<scheme> [\w+]+ ) ://
    (?: (?P<username> [^:/]* ) (?: : (?P<password> [^@]* ) )? @ )?
    (?: \[ (?P<address> [^/?\]]+ ) \] | (?P<host> [^/:?]+ ) )?
    (?: : (?P<port> \d+ ) )?
    (?: / (?P<database> [^?]* ) )?
    (?: \? (?P<query> .* ) )?"""
)
_LISTS: Final = ("host", "port")
"""What libpq takes several of, with commas between; a URL may repeat the name instead."""


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """The parts of a URL, decoded.

    :param scheme: the database, and the driver behind a plus sign.
    :param query: the options. Several hosts and ports are one text each, with commas, however they were written.
    """

    scheme: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    host: str | None = None
    port: int | None = None
    database: str | None = None
    query: Mapping[str, str] = field(default_factory=dict, repr=False)

    def with_query(self, options: Mapping[str, str]) -> DatabaseUrl:
        """Return the URL with more options, or other values of them."""
        return replace(self, query={**self.query, **options})

    def without(self, names: Iterable[str]) -> DatabaseUrl:
        """Return the URL without some options."""
        left_out = set(names)
        return replace(self, query={name: value for name, value in self.query.items() if name not in left_out})

    def text(self) -> str:
        """Return the URL as it is written, with its password; a blank as ``%20``, as in a store's address."""
        credentials, host = "", self.host or ""
        if self.username is not None:
            password = "" if self.password is None else f":{_quoted(self.password)}"
            credentials = f"{_quoted(self.username)}{password}@"
        place = f"[{host}]" if ":" in host else host
        port = "" if self.port is None else f":{self.port}"
        database = "" if self.database is None else f"/{quote(self.database, safe='+/')}"
        options = "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in sorted(self.query.items()))
        return f"{self.scheme}://{credentials}{place}{port}{database}{options and '?'}{options}"

    def for_libpq(self) -> dict[str, Any]:
        """Return the keywords that libpq connects with; an option goes before the part it repeats."""
        parts = {
            "host": self.host,
            "port": self.port,
            "user": self.username,
            "password": self.password,
            "dbname": self.database,
        }
        return {**{name: value for name, value in parts.items() if value not in (None, "")}, **self.query}


def read_url(text: str) -> DatabaseUrl:
    """Return the parts of a store's URL.

    :raises SettingsError: when it is no URL of a database; no secret that it may hold is told.
    """
    try:
        return _parts(text)
    except ValueError as error:
        raise SettingsError("store", public_address(text), str(error), "Check its parts") from None


def _parts(text: str) -> DatabaseUrl:
    found = _URL.fullmatch(text)
    if found is None:
        raise ValueError("is no database URL")
    parts = found.groupdict()
    decoded = {
        name: None if parts[name] is None else unquote(parts[name]) for name in ("username", "password", "database")
    }
    host, port = parts["host"] or parts["address"], int(parts["port"]) if parts["port"] else None
    return DatabaseUrl(parts["scheme"], **decoded, host=host, port=port, query=_options(parts["query"] or ""))


def _quoted(text: str) -> str:
    return quote(text, safe="+")


def _options(query: str) -> dict[str, str]:
    options: dict[str, list[str]] = {}
    for name, value in parse_qsl(query):
        options.setdefault(name, []).append(value)
    if any(len(values) > 1 and name not in _LISTS for name, values in options.items()):
        raise ValueError("gives an option twice")
    return _hosts({name: ",".join(values) for name, values in options.items()})


def _hosts(options: dict[str, str]) -> dict[str, str]:
    """Return options that hold hosts and ports apart, which a URL may join: ``host=a:5432&host=b:5433``."""
    hosts = options.get("host", "")
    if ":" not in hosts or "port" in options or hosts.startswith("/"):
        return options
    places = [place.partition(":") for place in hosts.split(",")]
    if not all(re.fullmatch(r"[\w.-]*", host) and re.fullmatch(r"\d*", port) for host, _, port in places):
        return options
    return {**options, "host": ",".join(host for host, _, _ in places), "port": ",".join(port for *_, port in places)}
