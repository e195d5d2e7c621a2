"""The conclusions of waiting on a source: one after each look."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final, Self

from airflow_coordination.monitoring.waiting.idleness import Idleness
from airflow_coordination.monitoring.waiting.observation import Observation

_REMEDY: Final = (
    "Let the tasks before this sensor drain the source (max_leases=None), or leave the rest to a later run "
    "(on_idle='succeed')"
)
_AFTER_A_PAUSE: Final = (
    "The source was {}: tasks that found it paused have ended, and resuming it starts none. The next run takes what "
    "waits; to finish this one, clear its tasks"
)


class Until(StrEnum):
    """The aim of a sensor."""

    CLAIMABLE = "claimable"
    COMPLETED = "completed"


class OnParked(StrEnum):
    """A sensor's choice about parked partitions."""

    FAIL = "fail"
    IGNORE = "ignore"


class OnIdle(StrEnum):
    """A sensor's choice when work waits and nobody takes it."""

    FAIL = "fail"
    SUCCEED = "succeed"
    WAIT = "wait"


class WaitVerdict(StrEnum):
    """The verdict of one look."""

    WAIT = "wait"
    READY = "ready"
    NOTHING = "nothing"
    """Nothing can be acquired, and nothing can become so, or nobody wants to wait for it."""
    PARKED = "parked"
    """The source cannot complete without a person: something is parked, or it has paused itself."""
    IDLE = "idle"
    """Work waits, and nobody takes it."""
    ERROR = "error"
    """The look itself failed for good."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The result of one look; plain values, so that it travels in a trigger event.

    :param verdict: whether the waiting is over.
    :param message: why, for people.
    :param hints: what can be acquired, in the acquisition order.
    """

    verdict: WaitVerdict
    message: str
    hints: list[str] = field(default_factory=list)

    def to_event(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self) | {"verdict": self.verdict.value}

    @classmethod
    def from_event(cls, event: dict[str, Any]) -> Self:
        """Return what :meth:`to_event` wrote."""
        return cls(**(event | {"verdict": WaitVerdict(event["verdict"])}))


@dataclass(frozen=True, slots=True)
class WaitTerms:
    """The terms of a sensor's waiting.

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


class Waiting:
    """One sensor's waiting: concludes from one look after the other, on its terms.

    :param terms: of the sensor.
    :param idleness: what the looks before the first one here have seen, if any.
    """

    def __init__(self, terms: WaitTerms, idleness: Idleness | None = None) -> None:
        self.terms, self.idleness = terms, idleness

    def conclude(self, seen: Observation) -> Conclusion:
        """Return what this look says, after all that was seen before."""
        if self.terms.until is Until.CLAIMABLE:
            return self._until_claimable(seen)
        return self._until_completed(seen)

    def _until_claimable(self, seen: Observation) -> Conclusion:
        hints = seen.hints()[: self.terms.max_hints]
        if hints:
            some = f", {len(hints)} of them by the hints that this task returns" if len(hints) < seen.claimable else ""
            return Conclusion(
                WaitVerdict.READY, _told(f"{seen.claimable} partitions can be acquired{some}.", seen), hints
            )
        if self._braked(seen):
            return Conclusion(WaitVerdict.PARKED, _told("The source has paused itself and waits for a person.", seen))
        if seen.moving and self.terms.wait:
            return _wait("The source is paused" if seen.paused else "Nothing can be acquired now", seen)
        if self._parked(seen):
            return self._until_a_person_acts(seen, "Nothing can be acquired")
        never = "Not now, and this sensor does not wait" if seen.moving else "Nothing can be acquired, nor become so"
        return Conclusion(WaitVerdict.NOTHING, _told(f"{never}.", seen))

    def _until_completed(self, seen: Observation) -> Conclusion:
        if self._parked(seen):
            return self._until_a_person_acts(seen, "The source is not completed")
        if not seen.moving:
            behind = seen.outlook.blocked
            but = f" but what is parked, and {behind} partitions behind it" if behind else ""
            return Conclusion(WaitVerdict.READY, _told(f"Everything is completed{but}.", seen))
        if self._braked(seen):
            return Conclusion(WaitVerdict.PARKED, _told("The source has paused itself and waits for a person.", seen))
        if not self.terms.wait:
            return Conclusion(WaitVerdict.NOTHING, _told("Not completed, and this sensor does not wait.", seen))
        return self._while_moving(seen)

    def _while_moving(self, seen: Observation) -> Conclusion:
        """Wait, unless nobody takes what can be acquired: then nobody of this run ever will."""
        if self.terms.on_idle is OnIdle.WAIT:
            return _wait("Not completed", seen)
        hints = seen.hints() if not seen.outlook.assigned else ()
        self.idleness = Idleness.seen(self.idleness, seen.outlook, seen.swept, hints)
        if self.idleness is None:
            return _wait("Not completed", seen)
        nobody = f"Partitions wait: {seen.claimable} can be acquired, but nobody takes them"
        if not self.idleness.lasts:
            return _wait(f"{nobody} yet", seen)
        nobody = f"{nobody}; {self.idleness.looks + 1} looks saw no acquisition"
        if self.terms.on_idle is OnIdle.SUCCEED:
            return Conclusion(WaitVerdict.READY, _told(f"{nobody}. They are left to a later run.", seen))
        remedy = _AFTER_A_PAUSE.format(seen.resumed) if seen.resumed else _REMEDY
        return Conclusion(WaitVerdict.IDLE, _told(f"{nobody}. {remedy}.", seen))

    def _parked(self, seen: Observation) -> bool:
        return bool(seen.outlook.parked) and self.terms.on_parked is OnParked.FAIL

    def _braked(self, seen: Observation) -> bool:
        """Return whether the source has paused itself, and who still held a lease then has ended."""
        stands = seen.outlook.braked and seen.moving and not seen.outlook.assigned
        return stands and self.terms.on_parked is OnParked.FAIL

    def _until_a_person_acts(self, seen: Observation, what: str) -> Conclusion:
        parked = f"{seen.outlook.parked} partitions are parked and wait for a person"
        if seen.outlook.blocked:
            parked += f", and {seen.outlook.blocked} wait for their parents"
        return Conclusion(WaitVerdict.PARKED, _told(f"{what}: {parked}.", seen))


def _wait(why: str, seen: Observation) -> Conclusion:
    return Conclusion(WaitVerdict.WAIT, f"{why}. {seen}.")


def _told(sentence: str, seen: Observation) -> str:
    """Return the sentence, what was seen, and the parked partitions by name."""
    return " ".join(filter(None, (sentence, f"{seen}.", seen.parked())))
