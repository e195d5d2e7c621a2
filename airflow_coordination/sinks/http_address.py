"""The address of a sink that is asked over HTTP."""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, urlsplit

from airflow_coordination.leases.errors import InvalidInputError
from airflow_coordination.leases.known_secrets import HIDDEN

_QUOTE: Final = "Write it as it is sent: urllib.parse.quote for a path, xn--… for a host's name"


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
