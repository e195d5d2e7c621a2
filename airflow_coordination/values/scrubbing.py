"""Texts without credentials: without what looks like one, and without those this process was given (promise X4).

An error holds what its author put there: a page of hex digits, a dump of a file. While a pattern works on it no other
thread of the process runs, and the lease expires. So the text is cut first, and each character is read a fixed number
of times: the patterns never give back what they have read (``++``), and none of them starts inside a word.
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


MAX_TEXT: Final = 32_000
"""Characters of a text that are looked at: its beginning and its end."""
_EDGE: Final = 512
"""Characters beside a cut that are dropped when no line ends there: they may be half of a secret."""

_WORD = re.compile(r"(?<![\w.-])[\w.-]++(?:\\?[\"'])?+\s*+[=:]\s*+")
_NAME = re.compile(r"(?i)password|passwd|secret|token|access[._-]?key|account[._-]?key")
_VALUE = re.compile(r"""\\"[^"\\]*+\\"|"[^"]*+"|'[^']*+'|[^\s"',;&]++""")
_USER = re.compile(r"://[^/\s:@]*+:")


def without_secrets(text: str) -> str:
    """Return ``text`` with every known secret, and what looks like one, replaced; of a long one the ends are left."""
    return _hide_values(_hide_user_info(_cut(without_known(text))))


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    half = MAX_TEXT // 2
    head, tail = text[:half], text[-half:]
    head = head[: max(head.rfind("\n"), half - _EDGE)]
    line = tail.find("\n", 0, _EDGE)
    tail = tail[line if line >= 0 else _EDGE :]
    return f"{head}\n… ({len(text) - len(head) - len(tail)} characters left out) …\n{tail.lstrip()}"


def _hide_user_info(text: str) -> str:
    """Hide what stands between the user's name and the last ``@`` of a URL's host."""
    *before, rest = text.split("@")
    shown: list[str] = []
    hiding = False
    for part in before:
        word = part.split()[-1] if part and not part[-1].isspace() else ""
        if hiding and word == part and "/" not in part:
            continue  # the password has an @ of its own
        found = _USER.search(word)
        hiding = found is not None
        shown.append(part if found is None else f"{part[: len(part) - len(word) + found.end()]}***")
    return "@".join([*shown, rest])


def _hide_values(text: str) -> str:
    """Hide the values of names like ``password``, however they are written: ``k=v``, ``'k': 'v'``, ``?k=v&``."""
    shown: list[str] = []
    done = 0
    for name in _WORD.finditer(text):
        if name.start() < done or not _NAME.search(name.group()):
            continue
        value = _VALUE.match(text, name.end())
        if value is not None:
            shown += [text[done : name.end()], "***"]
            done = value.end()
    return "".join([*shown, text[done:]])
