"""The answer to "why is it not moving?"."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """The reason why a partition is where it is, in a word."""

    REOPENS = "reopens"
    """CLOSED until a time that has not come."""
    DUE = "due"
    """CLOSED, and its time has come: it waits for a sweep or an acquirer."""
    DELAYED = "delayed"
    """UNASSIGNED from a time on that has not come, mostly after a failure."""
    WAITING = "waiting"
    """UNASSIGNED and claimable: it waits for its turn."""
    BLOCKED = "blocked"
    """UNASSIGNED, and a parent that it comes after has not finished."""
    PAUSED = "paused"
    """It could be acquired now, and a person has paused its source."""
    IDLE = "idle"
    """UNASSIGNED and claimable for long, while nobody holds or acquires anything in its source."""
    HELD = "held"
    """ASSIGNED under a lease that lasts."""
    LATE = "late"
    """ASSIGNED, not renewed in time, and in grace: others get it when that is over."""
    EXPIRED = "expired"
    """ASSIGNED under a lease that has ended: it waits for a sweep or an acquirer."""
    PARKED = "parked"
    """CLOSED without a time: it waits for a person."""
    DONE = "done"
    DELETED = "deleted"
    ABSENT = "absent"
    """There is none of this key."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """An explanation: why one partition is not moving, and what makes it move.

    Texts are plain words on one line; times are the store's, in UTC and ISO 8601. What comes from outside, keys and
    errors, has its control characters escaped, so that it can be printed anywhere as it is.

    :param key: the partition's key, as it is.
    :param reason: in a word, for programs.
    :param sentence: for people.
    :param next: what happens by itself, and when; ``None`` when nothing does.
    :param command: what to type into a shell, complete and quoted; ``None`` when nothing is to be done.
    """

    key: str
    reason: Reason
    sentence: str
    next: str | None = None
    command: str | None = None
