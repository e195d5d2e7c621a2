"""One look at a source: the sight of what a sweep leaves, and words about what is parked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import cached_property
from threading import Lock
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.monitoring.late import late_ones
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.protocol.results import Outlook, Swept
from airflow_coordination.values.errors import first_line
from airflow_coordination.values.hints import decode_hint
from airflow_coordination.values.input_errors import shown

NAMED_KEYS: Final = 10


def named(coordinator: SourceCoordinator, parked: int, some: Iterable[Partition]) -> str:
    """Return sentences that name parked partitions, and the commands for them; empty when there are none.

    :param coordinator: of their source.
    :param parked: how many there are.
    :param some: :data:`NAMED_KEYS` of them, or all when there are fewer.
    """
    by_error: dict[str, list[str]] = {}
    for partition in some:
        by_error.setdefault(_error(partition), []).append(partition.key)
    if not by_error:
        return ""
    groups = "; ".join(f"{', '.join(map(shown, keys))} ({error})" for error, keys in by_error.items())
    more = f"; and {parked - NAMED_KEYS} more" if parked > NAMED_KEYS else ""
    first = next(iter(by_error.values()))[0]
    see, reopen = (typed(coordinator, name, first) for name in ("show", "reopen"))
    return f"Parked: {groups}{more}. See why with `{see}`, then `{reopen}`."


def _error(partition: Partition) -> str:
    return first_line(partition.last_error, "no error: somebody parked it")


LATELY: Final = timedelta(days=1)
"""A pause that ended so long ago may still be why the tasks of a run are gone."""


class Observation:
    """The findings of one pass over a source: everyone who waits on the source can share it, in any thread.

    Details are read when somebody first asks for them, once.

    :param coordinator: who has swept, and reads.
    :param most_hints: how many hints anyone can ask for.
    :param swept: what the sweep just before has done; ``duties.standing.observe`` does both.
    :raises SettingsError: when the store has never heard of the source.
    """

    def __init__(self, coordinator: SourceCoordinator, most_hints: int, swept: Swept) -> None:
        self._coordinator = coordinator
        self._most_hints = most_hints
        self._reading = Lock()
        self.swept = swept
        self.outlook = coordinator.looking.outlook()
        if self.outlook == Outlook():
            coordinator.looking.check_known()
        due = self.outlook.next_due
        self.seconds = (due - coordinator.store.now()).total_seconds() if due else None
        """Until something is due, by the store's clock; ``None`` when nothing will be."""
        self.resumed = self._resumed_lately()
        self.late = late_ones(coordinator, self.outlook)
        """Who has not renewed in time, while others keep off: a grace is no hang."""

    def _resumed_lately(self) -> str:
        """Return who has resumed the source, where that was not long ago; otherwise nothing."""
        pause = self.outlook.pause
        since = pause.until or pause.at
        if pause.paused or since is None or self._coordinator.store.now() - since > LATELY:
            return ""
        return str(pause)

    def hints(self) -> list[str]:
        """Return what can be acquired, in the acquisition order; nothing of a source that is paused."""
        if self.paused:
            return []
        with self._reading:
            return self._hints

    def parked(self) -> str:
        """Return sentences that name some of the parked partitions, empty when there are none."""
        with self._reading:
            return named(self._coordinator, self.outlook.parked, self._parked)

    @property
    def claimable(self) -> int:
        """The number of partitions that can be acquired; at least so many, where counting them is dear."""
        return max(self.outlook.claimable, len(self.hints()))

    @property
    def paused(self) -> bool:
        """Whether a person holds new leases back."""
        return self.outlook.paused

    @property
    def moving(self) -> bool:
        """Whether something can be acquired, now or later, without a person.

        What waits for parents waits for what moves, or for what is parked: if there is neither, the next sweep finds
        that its parents have finished.
        """
        seen = self.outlook
        return bool(seen.claimable or seen.assigned or seen.waiting or (seen.blocked and not seen.parked))

    def key_of(self, hint: str) -> str:
        """Return the key of the partition that one of the hints is about."""
        return decode_hint(hint, self._coordinator.store.store_id).key

    def __str__(self) -> str:
        outlook, swept = self.outlook, self.swept
        next_due = f", next due {outlook.next_due.isoformat(timespec='seconds')}" if outlook.next_due else ""
        overdue = f"; {swept.total} were overdue until this look" if swept.total else ""
        late = f" ({self.late})" if self.late.number else ""
        resume = typed(self._coordinator, "resume")
        end = "" if outlook.pause.unending else "then, or "
        paused = f"; {outlook.pause}: nothing is acquired until {end}`{resume}`" if self.paused else ""
        return (
            f"Source {self._coordinator.source}: {outlook.assigned} held{late}, {outlook.waiting} delayed, "
            f"{outlook.parked} parked, {self._blocked}{outlook.completed} completed{next_due}; "
            f"swept: {swept.reopened} reopened, {swept.reclaimed} reclaimed, {swept.parked} parked{overdue}{paused}"
        )

    @property
    def _blocked(self) -> str:
        """What waits for parents, where anything does."""
        return f"{self.outlook.blocked} blocked, " if self.outlook.blocked else ""

    @cached_property
    def _hints(self) -> list[str]:
        return self._coordinator.claimable(self._most_hints) if self.outlook.claimable else []

    @cached_property
    def _parked(self) -> Sequence[Partition]:
        return self._coordinator.partitions(parked=True, limit=NAMED_KEYS) if self.outlook.parked else ()
