"""The reason why a drain takes no further partition, and what it leaves."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from airflow_coordination.protocol.results import Outlook


class Why(StrEnum):
    """The reason why a drain ended."""

    NOTHING = "nothing can be acquired"
    """What is left, if anything, is completed, parked, waits for its time, or is held by others."""
    BLOCKED = "what is left waits for parents that have not finished"
    PAUSED = "the source is paused"
    LIMIT = "it has begun as many as it may, or for as long"
    STOPPED = "it was stopped"
    SESSION = "its Spark session does not work any more"
    UNREACHED = "what can be acquired was not to be had, look after look"
    """A sign of something wrong, in the store or here: please report it."""


_SAID: Final = ("claimable", "assigned", "waiting", "blocked", "parked", "completed")
_WORDS: Final = {"claimable": "can be acquired", "assigned": "are held", "waiting": "wait for their time"}


def more_exactly(why: Why, left: Outlook) -> Why:
    """Return the reason more exactly, by what is left when nothing was to be had.

    :param left: a look at the source after that.
    """
    if why is not Why.NOTHING:
        return why
    if left.paused:
        return Why.PAUSED
    if left.claimable:
        return Why.UNREACHED
    return Why.BLOCKED if left.blocked and not (left.assigned or left.waiting) else why


def in_words(left: Outlook) -> str:
    """Return what is left in a few words: ``2 are held, 1 parked, 7 completed``."""
    numbers = [(getattr(left, name), _WORDS.get(name, name)) for name in _SAID]
    said = ", ".join(f"{number:,} {word}" for number, word in numbers if number) or "nothing was ever created"
    return (
        said if left.next_due is None else f"{said}; the next is due at {left.next_due.isoformat(timespec='seconds')}"
    )
