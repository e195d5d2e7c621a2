"""The text of a file of Java properties as Druid reads it: keys with their values, all of them texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.values.input_errors import SettingsError

MAX_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Properties:
    """What a file says.

    :param values: by key; of a key that is named twice the last one counts, as in Java.
    :param twice: the keys that are.
    """

    values: dict[str, str]
    twice: tuple[str, ...] = ()


def read_properties(name: str, text: str) -> Properties:
    r"""Return what the text of a file says: comments, continued lines, and ``\u`` escapes are Java's.

    :param name: how the error names the file.
    :raises SettingsError: when an escape is none, or the text is too long to be such a file.
    """
    if len(text) > MAX_BYTES:
        problem = f"has {len(text)} characters, the limit is {MAX_BYTES}"
        raise SettingsError(name, text[:50], problem, "Name Druid's runtime.properties, or a copy of its own")
    library = _library()
    try:
        pairs: list[tuple[str, str]] = library.loads(text.removeprefix("\ufeff"), object_pairs_hook=list)
    except library.InvalidUEscapeError as error:
        problem, remedy = rf"is no escape of four digits ({error})", r"Write such as \u00e9, or \\u for a backslash"
        raise SettingsError(name, error.escape, problem, remedy) from None
    values: dict[str, str] = {}
    twice: dict[str, None] = {}
    for key, value in pairs:
        if key in values:
            twice[key] = None
        values[key] = value.strip()
    return Properties(values, tuple(twice))


def _library() -> Any:
    """Return the library; only who reads a file needs it."""
    import javaproperties

    return javaproperties
