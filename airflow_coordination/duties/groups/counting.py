"""The duty ``countEnded``: how much ended in each five minutes of a source, for charts, counted from the history."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Final

from airflow_coordination.duties.groups.round import Ran, Round, in_each
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.beside.ended_sums import MOST_SLOTS, SLOT

MOST_PORTIONS: Final = 50
"""Portions that one run counts of a source at most, 100,000 endings; where there are more, the next run goes on."""


class CountEnded:
    """Counts on in each source, from where whoever counted before has got to; what is two days old goes.

    Any number of these may run at once, and one that dies half way leaves nothing wrong (decision 158).
    """

    name: ClassVar[str] = "countEnded"

    def run(self, round: Round) -> Ran:
        """Count; four requests for a source in which something has ended, and three where nothing has."""
        done = _Done()
        if round.dry_run:
            return done.told()
        begin = round.now - SLOT * (MOST_SLOTS - 1)
        errors = in_each(round.sources, lambda coordinator: done.count(coordinator, begin))
        return done.told(errors)


class _Done:
    def __init__(self) -> None:
        self.rows, self.behind = 0, 0

    def count(self, coordinator: SourceCoordinator, begin: datetime) -> None:
        book = coordinator.looking.ended
        for _ in range(MOST_PORTIONS):
            counted = book.count_on(begin)
            if counted is None:  # the store keeps no history, or somebody else counts just now
                return
            self.rows += counted.rows
            if not counted.goes_on:
                book.forget_old()
                return
        self.behind += 1

    def told(self, errors: tuple[str, ...] = ()) -> Ran:
        said = f"wrote {self.rows} row(s) of sums" if self.rows else "nothing to count"
        more = f"; {self.behind} source(s) go on in the next run" if self.behind else ""
        counts = {"ended/sums/count": self.rows, "ended/behind/count": self.behind}
        return Ran(said=said + more, counts=counts, idle=not self.rows, errors=errors)
