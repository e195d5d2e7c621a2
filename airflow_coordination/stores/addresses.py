"""Addresses of stores and databases: the secrets in them, and their public part.

Both work on any text, for what is misspelt is what gets printed. An address is shown when every part of it is known to
be what it seems; of anything else, the scheme.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote, unquote_plus

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
