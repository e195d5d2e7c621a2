"""What a sensor concludes from its looks at a source."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final, Self

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.sensors.sight import Sight
from airflow_coordination.sensors.stillness import Stillness

_REMEDY: Final = (
    "Let the tasks before this sensor drain the source (max_leases=None), or leave the rest to a later run "
    "(on_idle='succeed')"
)


class Until(StrEnum):
    """What a sensor waits for."""

    CLAIMABLE = "claimable"
    COMPLETED = "completed"


class OnParked(StrEnum):
    """What a sensor does about parked partitions."""

    FAIL = "fail"
    IGNORE = "ignore"


class OnIdle(StrEnum):
    """What a sensor does when work waits and nobody takes it."""

    FAIL = "fail"
    SUCCEED = "succeed"
    WAIT = "wait"


class Verdict(StrEnum):
    """What one look says."""

    WAIT = "wait"
    READY = "ready"
    NOTHING = "nothing"
    """Nothing can be acquired, and nothing can become so, or nobody wants to wait for it."""
    PARKED = "parked"
    """The source cannot complete without a person."""
    IDLE = "idle"
    """Work waits, and nobody takes it."""
    ERROR = "error"
    """The look itself failed for good."""


@dataclass(frozen=True, slots=True)
class Look:
    """The result of one look; plain values, so that it travels in a trigger event.

    :param verdict: whether the waiting is over.
    :param message: why, for people.
    :param hints: what can be acquired, in the acquisition order.
    """

    verdict: Verdict
    message: str
    hints: list[str] = field(default_factory=list)

    def to_event(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self) | {"verdict": self.verdict.value}

    @classmethod
    def from_event(cls, event: dict[str, Any]) -> Self:
        """Return what :meth:`to_event` wrote."""
        return cls(**(event | {"verdict": Verdict(event["verdict"])}))


@dataclass(frozen=True, slots=True)
class Terms:
    """What a sensor waits for, and how.

    :param until: what for.
    :param max_hints: how many hints it wants at most.
    :param on_parked: what parked partitions are to it.
    :param on_idle: what it does when work waits and nobody takes it, until ``completed``.
    :param wait: whether it waits at all.
    """

    until: Until
    max_hints: int
    on_parked: OnParked = OnParked.FAIL
    on_idle: OnIdle = OnIdle.FAIL
    wait: bool = True


class Judge:
    """Concludes from one look after the other, on the terms of one sensor.

    :param terms: of the sensor.
    :param still: what the looks before this judge's first have seen, if any.
    """

    def __init__(self, terms: Terms, still: Stillness | None = None) -> None:
        self.terms, self.still = terms, still

    def judge(self, sight: Sight) -> Look:
        """Return what ``sight`` says, after all that was seen before."""
        if self.terms.until is Until.CLAIMABLE:
            return self._until_claimable(sight)
        return self._until_completed(sight)

    def _until_claimable(self, sight: Sight) -> Look:
        hints = sight.hints()[: self.terms.max_hints]
        if hints:
            some = f", {len(hints)} of them by the hints that this task returns" if len(hints) < sight.claimable else ""
            return Look(Verdict.READY, _told(f"{sight.claimable} partitions can be acquired{some}.", sight), hints)
        if sight.moving and self.terms.wait:
            return _wait("Nothing can be acquired now", sight)
        if self._parked(sight):
            return self._until_a_person_acts(sight, "Nothing can be acquired")
        never = "Not now, and this sensor does not wait" if sight.moving else "Nothing can be acquired, nor become so"
        return Look(Verdict.NOTHING, _told(f"{never}.", sight))

    def _until_completed(self, sight: Sight) -> Look:
        if self._parked(sight):
            return self._until_a_person_acts(sight, "The source is not completed")
        if not sight.moving:
            return Look(Verdict.READY, _told("Everything is completed.", sight))
        if not self.terms.wait:
            return Look(Verdict.NOTHING, _told("Not completed, and this sensor does not wait.", sight))
        return self._while_moving(sight)

    def _while_moving(self, sight: Sight) -> Look:
        """Wait, unless nobody takes what can be acquired: then nobody of this run ever will."""
        if self.terms.on_idle is OnIdle.WAIT:
            return _wait("Not completed", sight)
        hints = sight.hints() if not sight.outlook.assigned else ()
        self.still = Stillness.seen(self.still, sight.outlook, sight.swept, hints)
        if self.still is None:
            return _wait("Not completed", sight)
        nobody = f"Partitions wait: {sight.claimable} can be acquired, but nobody takes them"
        if not self.still.lasts:
            return _wait(f"{nobody} yet", sight)
        nobody = f"{nobody}; {self.still.looks + 1} looks saw no acquisition"
        if self.terms.on_idle is OnIdle.SUCCEED:
            return Look(Verdict.READY, _told(f"{nobody}. They are left to a later run.", sight))
        return Look(Verdict.IDLE, _told(f"{nobody}. {_REMEDY}.", sight))

    def _parked(self, sight: Sight) -> bool:
        return bool(sight.outlook.parked) and self.terms.on_parked is OnParked.FAIL

    def _until_a_person_acts(self, sight: Sight, what: str) -> Look:
        parked = f"{sight.outlook.parked} partitions are parked and wait for a person"
        return Look(Verdict.PARKED, _told(f"{what}: {parked}.", sight))


def look(coordinator: SourceCoordinator, until: Until, max_hints: int) -> Look:
    """Reopen and reclaim what is due in the source, and say what that leaves.

    :raises SettingsError: when the store has never heard of the source.
    """
    return judge(Sight(coordinator, max_hints), until, max_hints)


def judge(sight: Sight, until: Until, max_hints: int) -> Look:
    """Return what ``sight`` alone says to somebody who waits ``until`` then and wants ``max_hints`` at most."""
    return Judge(Terms(until, max_hints)).judge(sight)


def _wait(why: str, sight: Sight) -> Look:
    return Look(Verdict.WAIT, f"{why}. {sight}.")


def _told(sentence: str, sight: Sight) -> str:
    """Return the sentence, what was seen, and the parked partitions by name."""
    return " ".join(filter(None, (sentence, f"{sight}.", sight.parked())))
