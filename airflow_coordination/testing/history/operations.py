"""One call as a history keeps it: noted before it is made, and again when its answer is heard."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple


class Kind(StrEnum):
    """The kind of a call. The words are those of ``protocol.md``."""

    CREATE = "create"
    ACQUIRE = "acquire"
    RETAKE = "retake"
    ADOPT = "adopt"
    BEGIN = "begin"
    RENEW = "renew"
    SAVE = "save"
    COMPLETE = "complete"
    CLOSE = "close"
    FAIL = "fail"
    GIVE_UP = "give up"
    ASK = "ask"
    STEAL = "steal"
    HAND_OVER = "hand over"
    RELEASE = "release"
    REOPEN = "reopen"
    PARK = "park"
    RESET = "reset"
    FINISH = "finish"
    RETRACT = "retract"
    DELETE = "delete"
    PAUSE = "pause"
    RESUME = "resume"
    SWEEP = "sweep"
    HINTS = "list hints"
    LOOK = "look ahead"
    READ = "read"
    PUBLISHED = "read what is published"
    VIEW = "change the view"
    SHOWN = "read what shows"
    """All partitions of a dataset, under one view."""
    STATE = "read the global state"
    VANISH = "the item is gone"
    """Not a call: the store's TTL, or somebody's hand, removed the item and all that it remembered."""


GRANTS: Final = frozenset({Kind.ACQUIRE, Kind.RETAKE, Kind.STEAL})
"""What may give a new fence."""
HELD_BACK: Final = frozenset({Kind.ACQUIRE, Kind.STEAL})
"""What a pause holds back. A retake goes on with what its own task has begun."""


class Told(StrEnum):
    """The answer that the caller got."""

    OK = "ok"
    NOTHING = "nothing"
    """Nothing was there to acquire, to ask for, or to end any more."""
    REFUSED = "refused"
    """``PartitionNotOwnedError``."""
    MISSING = "missing"
    """``PartitionNotFoundError``."""
    NOT_DONE = "not done"
    """Any other error: surely not applied."""
    UNKNOWN = "unknown"
    """``OutcomeUnknownError``, or no answer at all: it may be applied at any time after the call, or never."""


class Output(NamedTuple):
    """One block as a history names it."""

    dataset: str
    digest: str
    follows: str | None = None
    mode: str = "replace"


NEVER = math.inf


@dataclass(slots=True, eq=False)
class Operation:
    """One call and what became of it.

    :param number: the place in the order in which the calls were made.
    :param process: who called; calls of one process on one lease come one after the other.
    :param key: the partition, empty while nobody knows which.
    :param fence: token and nonce that the call was made under, ``None`` for calls that need no lease.
    :param given: what else was given; see :mod:`~airflow_coordination.testing.history.recorder`.
    :param invoked: when it was called, in seconds since 1970 by a clock that is never ahead of the store's.
    :param answered: when its answer came, by the same clock.
    :param result: what the answer said.
    """

    number: int
    process: str
    kind: Kind
    key: str
    fence: tuple[int, str] | None
    given: Mapping[str, Any]
    invoked: float
    told: Told = Told.UNKNOWN
    answered: float = NEVER
    result: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        under = f" under {self.fence[0]}-{self.fence[1][:6]}" if self.fence else ""
        said = f" {dict(self.result)}" if self.result else ""
        when = f"{self.invoked:.3f} to {self.answered:.3f}"
        asked = f"#{self.number} {self.process}: {self.kind} {self.key!r}{under} {dict(self.given)}"
        return f"{asked} -> {self.told}{said} ({when})"

    def call(self) -> str:
        """Return the line that a file holds before the call is made."""
        return json.dumps(
            [self.number, self.process, self.kind, self.key, self.fence, self.given, self.invoked], default=str
        )

    def answer(self) -> str:
        """Return the line that a file holds after the answer came."""
        return json.dumps([self.number, self.told, self.answered, self.key, self.kind, self.result], default=str)
