"""One look at a source: sweep, then say whether the sensor's waiting is over."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from threading import Lock
from typing import Any, Final, Self

from airflow_coordination.leases import Outlook, PartitionStatus, SourceCoordinator
from airflow_coordination.leases.hints import decode_hint

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


class Sight:
    """What one pass over a source has found: everyone who waits on the source can share it, in any thread.

    Making it reopens and reclaims what is due. Details are read when somebody first asks for them, once.

    :param coordinator: who sweeps and reads.
    :param most_hints: how many hints anyone can ask for.
    :raises SettingsError: when the store has never heard of the source.
    """

    def __init__(self, coordinator: SourceCoordinator, most_hints: int) -> None:
        self._coordinator = coordinator
        self._most_hints = most_hints
        self._reading = Lock()
        self.swept = coordinator.sweep(_PAGE)
        self.outlook = coordinator.outlook()
        if self.outlook == Outlook():
            coordinator.check_known()
        due = self.outlook.next_due
        self.seconds = (due - coordinator.store.now()).total_seconds() if due else None
        """Until something is due, by the store's clock; ``None`` when nothing will be."""

    def hints(self) -> list[str]:
        """Return what can be acquired, in the acquisition order."""
        with self._reading:
            return self._hints

    def parked_keys(self) -> list[str]:
        """Return some of the parked partitions, at most :data:`NAMED_KEYS`."""
        with self._reading:
            return self._parked_keys

    @property
    def moving(self) -> bool:
        """Whether something can be acquired, now or later, without a person."""
        return bool(self.outlook.claimable or self.outlook.assigned or self.outlook.waiting)

    def key_of(self, hint: str) -> str:
        """Return the key of the partition that one of the hints is about."""
        return decode_hint(hint, self._coordinator.store.store_id).key

    def __str__(self) -> str:
        outlook, swept = self.outlook, self.swept
        return (
            f"Source {self._coordinator.source}: {outlook.assigned} assigned, {outlook.waiting} waiting, "
            f"{outlook.parked} parked, {outlook.completed} completed; "
            f"swept: {swept.reopened} reopened, {swept.reclaimed} reclaimed, {swept.parked} parked"
        )

    @cached_property
    def _hints(self) -> list[str]:
        return self._coordinator.claimable(self._most_hints) if self.outlook.claimable else []

    @cached_property
    def _parked_keys(self) -> list[str]:
        keys: list[str] = []
        after: str | None = None
        while self.outlook.parked and len(keys) < NAMED_KEYS:
            page = self._coordinator.partitions(PartitionStatus.CLOSED, after, _PAGE)
            keys += [partition.key for partition in page if partition.parked]
            if len(page) < _PAGE:
                break
            after = page[-1].key
        return keys[:NAMED_KEYS]


def look(coordinator: SourceCoordinator, until: Until, max_hints: int) -> Look:
    """Reopen and reclaim what is due in the source, and say what that leaves.

    :raises SettingsError: when the store has never heard of the source.
    """
    return judge(Sight(coordinator, max_hints), until, max_hints)


def judge(sight: Sight, until: Until, max_hints: int) -> Look:
    """Return what ``sight`` says to somebody who waits ``until`` then and wants ``max_hints`` at most."""
    if until is Until.COMPLETED:
        return _until_completed(sight)
    hints = sight.hints()[:max_hints]
    if hints:
        return Look(Verdict.READY, f"{len(hints)} partitions can be acquired. {sight}", hints)
    if sight.moving:
        return Look(Verdict.WAIT, str(sight))
    return Look(Verdict.NOTHING, f"Nothing can be acquired and nothing can become so. {sight}{_named(sight)}")


def _until_completed(sight: Sight) -> Look:
    if sight.outlook.parked:
        problem = f"{sight.outlook.parked} partitions are parked and wait for a person"
        return Look(Verdict.PARKED, f"{problem}. {sight}{_named(sight)}")
    if sight.moving:
        return Look(Verdict.WAIT, str(sight))
    return Look(Verdict.READY, f"Everything is completed. {sight}")


def _named(sight: Sight) -> str:
    """Return a sentence that names some of the parked partitions, empty when there are none."""
    if not sight.outlook.parked:
        return ""
    more = ", …" if sight.outlook.parked > NAMED_KEYS else ""
    return (
        f". Parked: {', '.join(map(ascii, sight.parked_keys()))}{more}. See why with `airflow coordination show KEY`, "
        "then `airflow coordination reopen KEY`"
    )
