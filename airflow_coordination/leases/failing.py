"""The brake: a source whose tenures fail one after the other of one error pauses itself (decision 80)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from airflow_coordination.leases.explaining.wording import first_line

BRAKE: Final = "the brake"
"""Who has paused a source that has paused itself."""
MARK_LENGTH: Final = 9
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


def alike(error: str | None) -> str:
    """Return what an error has in common with those of other partitions: its first line, numbers left out."""
    return _VARYING.sub("#", first_line(error, "without an error"))


def mark_of(key: str) -> str:
    """Return what a source remembers of a partition that has failed: ``MARK_LENGTH`` characters, a space at the end."""
    return f"{sha256(key.encode()).hexdigest()[: MARK_LENGTH - 1]} "
