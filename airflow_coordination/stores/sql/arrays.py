"""PostgreSQL's text of an array, for a parameter that a statement casts.

psycopg makes it of a list element by element, with a regular expression for each text: most of what creating a
partition cost on this side.
"""

from __future__ import annotations

from collections.abc import Iterable


def of_numbers(numbers: Iterable[int]) -> str:
    """Return the text of an array of numbers."""
    return f"{{{','.join(map(str, numbers))}}}"


def of_texts(texts: Iterable[str | None]) -> str:
    """Return the text of an array of texts, ``None`` as NULL: in quotes, only quotes and backslashes mean anything."""
    return f"{{{','.join(map(_quoted, texts))}}}"


def _quoted(text: str | None) -> str:
    if text is None:
        return "NULL"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
