"""The address of a sink that is asked over HTTP."""

from __future__ import annotations

from urllib.parse import urlsplit

from airflow_coordination.leases.errors import InvalidInputError
from airflow_coordination.leases.known_secrets import HIDDEN


def check_address(url: str) -> None:
    """Refuse what is no address, or holds a secret; the message shows nothing of it.

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
