"""The brake: a source whose tenures fail one after the other of one error pauses itself (decision 80)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from airflow_coordination.values.errors import first_line
from airflow_coordination.values.names import SEPARATOR

BRAKE: Final = "the brake"
"""Who has paused a source that has paused itself."""
MARK_LENGTH: Final = 9
_A_NAME: Final = 4
"""Characters of a name that is hardly a word of an error by chance."""
MOST_COUNTED: Final = 100
"""A source remembers so many of the partitions that failed; more say nothing new."""

_VARYING: Final = re.compile(r"[0-9A-Fa-f]*\d[0-9A-Fa-f]*")
"""Numbers, and the hexadecimal words that contain any: what differs from one partition to the next."""


@dataclass(frozen=True, slots=True)
class Failing:
    """The tenures of a source that have failed since the last one that ended well, as far as their error is one.

    :param error: what their errors have in common: the first line, numbers left out.
    :param number: of how many partitions, :data:`MOST_COUNTED` at most. A partition that fails twice counts once,
        because what one partition has, the others need not have.
    """

    error: str
    number: int


def alike(error: str | None, key: str = "") -> str:
    """Return what an error has in common with those of other partitions: its first line, key and numbers left out.

    :param key: of the partition, which our own errors name, and those of files by the part that is the file's name.
    """
    first = next(iter((error or "").strip().splitlines()), "")
    for named in sorted({key, *key.split(SEPARATOR)}, key=len, reverse=True):
        first = _named(named, first)
    return _VARYING.sub("#", first_line(first, "without an error"))


def _named(name: str, text: str) -> str:
    """Return a text without a name: in quotes, or as words of their own, if it is no short one."""
    if not name:
        return text
    spelt = "|".join(re.escape(each) for each in dict.fromkeys((name, ascii(name)[1:-1])))
    text = re.sub(rf"""(['"])(?:{spelt})\1""", r"\1#\1", text)
    return re.sub(rf"(?<!\w)(?:{spelt})(?!\w)", "#", text) if len(name) >= _A_NAME else text


def mark_of(key: str) -> str:
    """Return what a source remembers of a partition that has failed: ``MARK_LENGTH`` characters, a space at the end."""
    return f"{sha256(key.encode()).hexdigest()[: MARK_LENGTH - 1]} "
