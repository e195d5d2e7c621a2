"""Where an item stands in the index: its ``sourceStatusCombinationKey`` and its ``partitionPriority``.

The index sorts by ``partitionPriority``, a text. Data Prepper keeps an instant there, and so do we wherever an
instant says it all: the end of a lease, ``reOpenAt``, the creation of a partition of priority 0. What must come
before or after those instants carries one character in front of it::

    UNASSIGNED   !0002147483648|<lost lease>|<place>    crashed
                 #0002147483648|<due>|<place>           reopened
                 $<instant>                             delayed until then
                 -2147483643|<creation>                 new, priority below 0
                 <creation>                             new, priority 0
                 P0000000005|<creation>                 new, priority above 0
    ASSIGNED     <end of the lease, when it was last put here>
    CLOSED       <reOpenAt>
                 ~                                      parked
    COMPLETED    not in the index
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.status import PartitionStatus, Rank
from airflow_coordination.values.times import EPOCH, from_micros

CRASHED: Final = "!"
REOPENED: Final = "#"
DELAYED: Final = "$"
FRESH: Final = "%"
"""Every new partition stands above this, everything else that waits below it."""
PARKED: Final = "~"
RELEASING: Final = "!"
"""Where a completed parent stands, before all that wait, while it has more children than go into one transaction."""

_BIAS: Final = 2**31
_PLACE: Final = re.compile(r"(?:([-P])(\d{10})\|)?(.*)\.(\d{9})Z")


def instant(moment: datetime) -> str:
    """Return ``moment`` as Data Prepper writes instants, always with six digits, so that text order is time order."""
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond:06}Z"


def parse_instant(text: str, attribute: str) -> datetime:
    """Return the moment that Data Prepper or this package wrote, with 0 to 9 digits of a second.

    :raises InvalidInputError: when it is something else; it is never taken for "none".
    """
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else _not_an_instant(text, attribute)
    except ValueError:
        return _not_an_instant(text, attribute)


def _not_an_instant(text: str, attribute: str) -> datetime:
    raise InvalidInputError(attribute, text, "is no instant such as 2026-01-31T08:00:00Z", "Correct the item by hand")


def place_of(priority: int, ordinal: int) -> str:
    """Return where a new partition stands.

    :param priority: the user's; smaller goes first.
    :param ordinal: nanoseconds since 1970 at its creation, each used once, so that the supplier's order is kept.
    """
    seconds, nanoseconds = divmod(ordinal, 10**9)
    created = f"{from_micros(seconds * 10**6):%Y-%m-%dT%H:%M:%S}.{nanoseconds:09}Z"
    if priority == 0:
        return created
    return f"-{priority + _BIAS:010}|{created}" if priority < 0 else f"P{priority:010}|{created}"


def parse_place(place: str) -> tuple[int, int]:
    """Return priority and ordinal of a place; the inverse of :func:`place_of`.

    :raises InvalidInputError: when it is no place.
    """
    match = _PLACE.fullmatch(place)
    if match is None:
        raise InvalidInputError("place", place, "is no place in the order", "Correct the item by hand")
    sign, digits, second, nanoseconds = match.groups()
    whole = parse_instant(second + "Z", "place") - EPOCH
    ordinal = (whole.days * 86_400 + whole.seconds) * 10**9 + int(nanoseconds)
    return (0 if sign is None else int(digits) - (_BIAS if sign == "-" else 0)), ordinal


def created_at(place: str) -> datetime:
    """Return when a partition was created that stands at a place as new; to the microsecond.

    :raises InvalidInputError: when it is no place.
    """
    return from_micros(parse_place(place)[1] // 1_000)


def combination(source: str, status: PartitionStatus) -> str:
    """Return ``sourceStatusCombinationKey`` as Data Prepper writes it."""
    return f"{source}|{status}"


def blocked(source: str) -> str:
    """Return the combination of what waits for a parent, or has children to release: no query for work reads it."""
    return f"{source}|BLOCKED"


def waiting(rank: Rank, due: datetime, place: str, now: datetime) -> str:
    """Return where an UNASSIGNED partition stands.

    :param due: since when, or from when on, it can be acquired.
    :param place: where it stood when it was new.
    """
    if rank is Rank.NEW:
        return place if due <= now else DELAYED + instant(due)
    mark = CRASHED if rank is Rank.CRASHED else REOPENED
    return f"{mark}{parse_place(place)[0] + _BIAS:010}|{instant(due)}|{place}"


def closed(reopen_at: datetime | None) -> str:
    """Return where a CLOSED partition stands."""
    return instant(reopen_at) if reopen_at else PARKED


def standing(status: PartitionStatus, rank: Rank, due: datetime | None, place: str, now: datetime) -> str | None:
    """Return where a partition stands in the index, ``None`` when it is not in it."""
    if status is PartitionStatus.COMPLETED:
        return None
    if status is PartitionStatus.CLOSED:
        return closed(due)
    if due is None:
        return None
    return instant(due) if status is PartitionStatus.ASSIGNED else waiting(rank, due, place, now)
