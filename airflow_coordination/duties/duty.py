"""A duty, and the runner of several: each is reported, and none stops the next."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, Protocol, TypeVar, cast

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.values.errors import OutcomeUnknownError, PartitionNotOwnedError, StoreUnavailableError
from airflow_coordination.values.input_errors import shown

log = logging.getLogger(__name__)
Done = TypeVar("Done")

ENDS_ALL: Final = (StoreUnavailableError, OutcomeUnknownError, PartitionNotOwnedError)
"""After one of these no other duty is tried: each would wait for the same store, or work for a lease that is lost."""


@dataclass(frozen=True, slots=True)
class DutyReport(Generic[Done]):
    """What became of one duty.

    :param duty: its name.
    :param done: what it did, in the words of its subject; ``None`` when it failed.
    :param stays: how many things it has seen and left as they are, for the next time or for people.
    :param error: why it failed, or was not tried.
    """

    duty: str
    done: Done | None = None
    stays: int = 0
    error: Exception | None = None

    def result(self) -> Done:
        """Return what was done.

        :raises Exception: the duty's own, when it failed; so it ends a caller that has nothing else to do.
        """
        if self.error is not None:
            raise self.error
        return cast(Done, self.done)

    def __str__(self) -> str:
        return f"{self.duty}: {self.error or f'{self.done}, {self.stays} left'}"


class Duty(Protocol[Done]):
    """A thing that is done for a source from time to time, whoever does it; doing it twice does no harm.

    :param name: for people.
    """

    name: ClassVar[str]

    def run(self, coordinator: SourceCoordinator) -> DutyReport[Done]:
        """Do it once.

        :param coordinator: of the source.
        :raises Exception: when it cannot be done, whatever is the matter.
        """


def run_duties(coordinator: SourceCoordinator, duties: Iterable[Duty[Done]]) -> list[DutyReport[Done]]:
    """Run duties one after the other, and return a report of each; none of their errors is raised here.

    What one fails at does not keep the others, but for :data:`ENDS_ALL`: then the rest is reported with the same
    error, untried.

    :param coordinator: of the source.
    :param duties: in the order in which they are run.
    """
    reports: list[DutyReport[Done]] = []
    for duty in duties:
        before = reports[-1].error if reports else None
        report: DutyReport[Done]
        report = DutyReport(duty.name, error=before) if isinstance(before, ENDS_ALL) else _run(coordinator, duty)
        log.debug("Source %s: %s", shown(coordinator.source), report)
        reports.append(report)
    return reports


def _run(coordinator: SourceCoordinator, duty: Duty[Done]) -> DutyReport[Done]:
    try:
        return duty.run(coordinator)
    except Exception as error:
        return DutyReport(duty.name, error=error)
