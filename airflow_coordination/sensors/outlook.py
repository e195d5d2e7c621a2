"""One look at a source: sweep, then say whether the sensor's waiting is over."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final, Self

from airflow_coordination.leases import Outlook, PartitionStatus, SourceCoordinator

NAMED_KEYS: Final = 10
_PAGE: Final = 1000


class Until(StrEnum):
    """What a sensor waits for."""

    CLAIMABLE = "claimable"
    COMPLETED = "completed"


class Verdict(StrEnum):
    """What one look says."""

    WAIT = "wait"
    READY = "ready"
    NOTHING = "nothing"
    """Nothing can be acquired, and nothing can become so."""
    PARKED = "parked"
    """The source cannot complete without a person."""
    ERROR = "error"
    """The look itself failed for good."""


@dataclass(frozen=True, slots=True)
class Look:
    """The result of one look; plain values, so that it travels in a trigger event.

    :param verdict: whether the waiting is over.
    :param message: why, for people.
    :param hints: what can be acquired, in the acquisition order.
    :param seconds: until the next look is worth while, if that is known.
    """

    verdict: Verdict
    message: str
    hints: list[str] = field(default_factory=list)
    seconds: float | None = None

    def to_event(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self) | {"verdict": self.verdict.value}

    @classmethod
    def from_event(cls, event: dict[str, Any]) -> Self:
        """Return what :meth:`to_event` wrote."""
        return cls(**(event | {"verdict": Verdict(event["verdict"])}))


def look(coordinator: SourceCoordinator, until: Until, max_hints: int) -> Look:
    """Reopen and reclaim what is due in the source, and return what that leaves.

    :raises SettingsError: when the store has never heard of the source.
    """
    swept = coordinator.sweep(_PAGE)
    outlook = coordinator.outlook()
    if outlook == Outlook():
        coordinator.check_known()
    said = (
        f"Source {coordinator.source}: {outlook.assigned} assigned, {outlook.waiting} waiting, "
        f"{outlook.parked} parked, {outlook.completed} completed; "
        f"swept: {swept.reopened} reopened, {swept.reclaimed} reclaimed, {swept.parked} parked"
    )
    seconds = (outlook.next_due - coordinator.store.now()).total_seconds() if outlook.next_due else None
    if until is Until.COMPLETED:
        return _until_completed(coordinator, outlook, said, seconds)
    hints = coordinator.claimable(max_hints) if outlook.claimable else []
    if hints:
        return Look(Verdict.READY, f"{len(hints)} partitions can be acquired. {said}", hints)
    if outlook.assigned or outlook.waiting or outlook.claimable:
        return Look(Verdict.WAIT, said, seconds=seconds)
    return Look(
        Verdict.NOTHING, f"Nothing can be acquired and nothing can become so. {said}{_named(coordinator, outlook)}"
    )


def _until_completed(coordinator: SourceCoordinator, outlook: Outlook, said: str, seconds: float | None) -> Look:
    if outlook.parked:
        problem = f"{outlook.parked} partitions are parked and wait for a person"
        return Look(Verdict.PARKED, f"{problem}. {said}{_named(coordinator, outlook)}")
    if outlook.assigned or outlook.waiting or outlook.claimable:
        return Look(Verdict.WAIT, said, seconds=seconds)
    return Look(Verdict.READY, f"Everything is completed. {said}")


def _named(coordinator: SourceCoordinator, outlook: Outlook) -> str:
    """Return a sentence that names some of the parked partitions, empty when there are none."""
    if not outlook.parked:
        return ""
    keys: list[str] = []
    after: str | None = None
    while len(keys) < NAMED_KEYS:
        page = coordinator.partitions(PartitionStatus.CLOSED, after, _PAGE)
        keys += [ascii(partition.key) for partition in page if partition.parked]
        if len(page) < _PAGE:
            break
        after = page[-1].key
    more = ", …" if outlook.parked > NAMED_KEYS else ""
    return (
        f". Parked: {', '.join(keys[:NAMED_KEYS])}{more}. See why with `airflow coordination show KEY`, "
        "then `airflow coordination reopen KEY`"
    )
