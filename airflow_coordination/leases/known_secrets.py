"""The secrets that this process was given, and texts without them, whatever stands around them (promise X4).

Patterns guess what a secret looks like; what is known need not be guessed. Whoever reads a secret (a store's address, a
connection, a hand-over) says so here, once.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, quote_plus, unquote

HIDDEN: Final = "***"
SHORTEST: Final = 4
"""Characters. Shorter ones stand in every text by chance, and hiding them would hide nothing."""
LONG: Final = 8
"""Characters. Shorter ones are hidden where they stand as words: ``test`` is in ``latest`` by chance."""
_NAMES: Final = frozenset({"password", "passwd", "secret", "token", "airflow", "coordination", "spark"})
"""A secret that is one of these words stays: patterns find others by the first four, our messages hold the rest."""
_SAFE: Final = ("", "/", " ", " +", "+", "-._~!$&'()*+,;=:")
"""What writers of URLs leave as it is: RFC 3986, urllib, SQLAlchemy 1 and 2, and between them."""
_known: dict[str, None] = {}
_lock = threading.Lock()


def forms(secret: str) -> set[str]:
    """Return how a secret may stand in a text: as it is, in a URL, in JSON, in Python's quotes."""
    plain = {secret, unquote(secret)}
    in_urls = {quote(text, safe=safe) for text in plain for safe in _SAFE} | {quote_plus(text) for text in plain}
    quoted = {json.dumps(text)[1:-1] for text in plain} | {json.dumps(text, ensure_ascii=False)[1:-1] for text in plain}
    lower = {text.replace("%2F", "%2f") for text in in_urls}
    found = plain | in_urls | lower | quoted | {repr(text)[1:-1] for text in plain}
    return {text for text in found if len(text) >= SHORTEST}


def know(secrets: Iterable[object]) -> None:
    """Remember secrets, so that no text keeps them; empty and very short ones, and what is no text, are passed over."""
    found: set[str] = set()
    for secret in secrets:
        if isinstance(secret, str) and len(secret) >= SHORTEST and secret not in _NAMES:
            found |= forms(secret)
    with _lock:
        known = sorted({*_known, *found}, key=len, reverse=True)  # the longest first: one may hold another
        if len(known) > len(_known):
            _known.clear()
            _known.update(dict.fromkeys(known))


def without_known(text: str) -> str:
    """Return ``text`` with every known secret replaced."""
    with _lock:
        known = list(_known)
    for secret in known:
        if secret in text:
            text = _without(secret, text)
    return text


def _without(secret: str, text: str) -> str:
    if len(secret) >= LONG or not secret.isalnum():
        return text.replace(secret, HIDDEN)
    return re.sub(rf"(?<![^\W_]){re.escape(secret)}(?![^\W_])", HIDDEN, text)


def holds_known(text: str) -> bool:
    """Return whether a known secret is in ``text``."""
    return without_known(text) != text
