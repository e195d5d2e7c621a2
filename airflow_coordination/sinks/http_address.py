"""The address of a sink that is asked over HTTP."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import SplitResult, urlsplit

from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.scrubbing import HIDDEN, know

_QUOTE: Final = "Write it as it is sent: urllib.parse.quote for a path, xn--… for a host's name"
_HEADER: Final = re.compile(r"[\x20-\x7e\xa0-\xff]*")


def know_headers(headers: object) -> None:
    """Remember the values of headers as secrets: as they are, and what stands behind their scheme, too.

    A server that refuses a token says which: without ``Bearer``, and of a user's name and password without ``Basic``.

    :raises InvalidInputError: for what is no mapping of texts that a header can hold; the message shows no value.
    """
    if not isinstance(headers, Mapping) or not all(isinstance(name, str) for name in headers):
        raise InvalidInputError("headers", HIDDEN, "is no mapping of names to texts", "Give headers={'Name': 'value'}")
    for name, value in headers.items():
        know(_secrets_in(value))
        if not isinstance(value, str) or not value.isprintable() or not _HEADER.fullmatch(value):
            problem = "is no text that a header can hold"
            remedy = "Give printable Latin text without a line's end; a token from a file wants strip()"
            raise InvalidInputError(f"headers[{name!r}]", HIDDEN, problem, remedy)


def _secrets_in(value: object) -> Iterator[str]:
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    yield from (text, text.strip(), *text.split(None, 1)[1:])
    with suppress(ValueError):  # no base 64
        user, _, password = (
            base64.b64decode(text.split()[-1] if text.split() else "", validate=True).decode().partition(":")
        )
        yield password or user


def check_address(url: str) -> None:
    """Refuse what is no address, cannot be sent, or holds a secret; the message shows nothing of it.

    :raises InvalidInputError: naming the rule.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
    except (AttributeError, TypeError, ValueError):
        good = False
    if not good:
        raise InvalidInputError("url", HIDDEN, "is no address of HTTP", "Give http://… or https://…")
    if parts.username or parts.password:
        problem = "holds a user's name or password"
        raise InvalidInputError("url", HIDDEN, problem, "Give headers={'Authorization': …} instead")
    if not all("!" <= character <= "~" for character in url):
        raise InvalidInputError("url", HIDDEN, "holds a space, or a letter that no URL may hold", _QUOTE)
    if not _can_be_found(parts):
        problem = "names a host or a port that cannot be"
        raise InvalidInputError("url", HIDDEN, problem, "Give http://host:port/…, with a port from 1 to 65535")


def _can_be_found(parts: SplitResult) -> bool:
    """Return whether the host's name can be looked up, and the port be asked."""
    try:
        (parts.hostname or "").encode("idna")
        return parts.port != 0
    except ValueError:
        return False
