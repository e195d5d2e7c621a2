"""The duties that every source has: sweep, clean-up of parents, retention; and the look that follows a sweep."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Final

from airflow_coordination.duties.duty import DutyReport, run_duties
from airflow_coordination.leases.cleaning import CleanedUp, Purged
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.monitoring.waiting.observation import Observation
from airflow_coordination.protocol.hierarchy import CLEAN_AFTER
from airflow_coordination.protocol.results import Swept

PORTION: Final = 1000


@dataclass(frozen=True, slots=True)
class Sweep:
    """Reopens what is due, and reclaims what its owner has lost.

    :param limit: at most so many of each.
    """

    name: ClassVar[str] = "sweep"
    limit: int = 1000

    def run(self, coordinator: SourceCoordinator) -> DutyReport[Swept]:
        """Sweep once; what is more than the limit waits for the next time."""
        return DutyReport(self.name, coordinator.sweep(self.limit))


@dataclass(frozen=True, slots=True)
class CleanUp:
    """Removes finished parents that nobody needs; see :meth:`.Cleaning.clean_up`.

    :param clean_after: how long each stays at least after it was finished.
    :param gone: keys that the source knows no more: they go at once.
    :param by: who asks; the coordinator's owner if left out.
    :param why: the reason, kept in the audit.
    :param dry_run: look and change nothing.
    :param portion: how many completed partitions are read at once.
    """

    name: ClassVar[str] = "clean-up of parents"
    clean_after: timedelta = CLEAN_AFTER
    gone: Collection[str] = ()
    by: str | None = None
    why: str | None = None
    dry_run: bool = False
    portion: int = PORTION

    def run(self, coordinator: SourceCoordinator) -> DutyReport[CleanedUp]:
        """Go through the source portion by portion; killed, it goes on when it is called again.

        :raises InvalidInputError: when the time is not above zero, or ``gone`` is no list of keys.
        :raises OutcomeUnknownError: when the store stopped answering; what was removed until then stays removed.
        """
        done = CleanedUp(after="")
        while done.after is not None:
            done += coordinator.cleaning.clean_up(
                self.clean_after,
                gone=self.gone,
                by=self.by,
                why=self.why,
                after=done.after or None,
                limit=self.portion,
                dry_run=self.dry_run,
            )
        return DutyReport(self.name, done, stays=len(done.changed))


@dataclass(frozen=True, slots=True)
class Retention:
    """Deletes what was completed before a time; see :meth:`.Cleaning.purge`.

    :param completed_before: by the store's clock, with a time zone.
    :param by: who asks, kept in the audit.
    :param why: the reason, kept in the audit.
    :param dry_run: count and change nothing.
    :param portion: how many completed partitions are read at once.
    """

    name: ClassVar[str] = "retention"
    completed_before: datetime
    by: str
    why: str
    dry_run: bool = False
    portion: int = PORTION

    def run(self, coordinator: SourceCoordinator) -> DutyReport[Purged]:
        """Go through the source portion by portion; killed, it goes on when it is called again.

        :raises InvalidInputError: when it is no time, or has no zone.
        :raises OutcomeUnknownError: when the store stopped answering; what was deleted until then stays deleted.
        """
        done, part = Purged(), Purged(after="")
        while part.after is not None:
            part = coordinator.cleaning.purge(
                self.completed_before,
                self.by,
                self.why,
                after=part.after or None,
                limit=self.portion,
                dry_run=self.dry_run,
            )
            done += part
        return DutyReport(self.name, done, stays=done.changed + done.kept)


def observe(coordinator: SourceCoordinator, most_hints: int) -> Observation:
    """Sweep a source, and return what that leaves: one pass of everyone who waits on it.

    :param most_hints: how many hints anyone can ask for.
    :raises SettingsError: when the store has never heard of the source.
    :raises CoordinationError: when it could not be swept or looked at.
    """
    [swept] = run_duties(coordinator, [Sweep()])
    return Observation(coordinator, most_hints, swept.result())
