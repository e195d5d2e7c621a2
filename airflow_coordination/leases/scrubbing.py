"""Takes out of a text what looks like a credential, in time that grows with the text and no faster (promise X4).

An error holds what its author put there: a page of hex digits, a dump of a file. While a pattern works on it no other
thread of the process runs, and the lease expires. So the text is cut first, and each character is read a fixed number
of times: the patterns never give back what they have read (``++``), and none of them starts inside a word.
"""

from __future__ import annotations

import re
from typing import Final

from airflow_coordination.leases.known_secrets import without_known

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
