"""The client that a supplier asks with: what somebody gave, or the library's own default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def client_of(given: Any, default: Callable[[], Any]) -> Any:
    """Return a client of boto3.

    :param given: a client, a hook of Airflow's, or a function that returns one of them; ``None`` for the default.
    :param default: makes the default.
    """
    if given is None:
        return default()
    if not hasattr(given, "get_conn") and not hasattr(given, "get_paginator") and callable(given):
        given = given()
    return given.get_conn() if hasattr(given, "get_conn") else given
