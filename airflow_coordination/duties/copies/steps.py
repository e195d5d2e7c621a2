"""The steps of a plan about copies, each conditioned on what was seen: who wakes up late changes nothing (promise S25).

A copy is dropped by a retract of its head record, as its partition was seen. Whatever copies have to stay for that are
*touched* before, as they were seen: a retract of no head record, which changes nothing but the partition's last
operation. So of two runs that would each drop what the other relies on, one is refused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from airflow_coordination.duties.copies.snapshot import OfSource
from airflow_coordination.planning.copies.balance import Move
from airflow_coordination.planning.copies.deciding import Drop, Loads, Name
from airflow_coordination.planning.copies.placement import Copy
from airflow_coordination.planning.copies.work import CopyWork
from airflow_coordination.protocol.partition import Partition, PartitionIdentifier
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import shown
from airflow_coordination.values.status import PartitionStatus

log = logging.getLogger(__name__)
_RELIED_ON: Final = "counted on, while another copy is dropped"


@dataclass(slots=True)
class Done:
    """What was done.

    :param begun: copies that are claimable now.
    :param dropped: copies that were dropped.
    :param void: the names of sources whose plan counts no more: nothing further was done in them.
    :param moved_on: how many steps were refused, because somebody has changed what they were about.
    """

    begun: list[CopyWork] = field(default_factory=list)
    dropped: list[Drop] = field(default_factory=list)
    moved_on: int = 0
    void: set[str] = field(default_factory=set)


class Steps:
    """Carries out what was decided about the sources that were seen.

    :param sources: as they were read.
    :param by: who asks, for the audit.
    :param holds: tells by the name of a source whether what it was planned from still counts. It is asked before each
        step: after it is the write that was under way.
    """

    def __init__(
        self, sources: Iterable[OfSource], by: str, holds: Callable[[str], bool] = lambda source: True
    ) -> None:
        self._sources = {each.coordinator.source: each for each in sources}
        self._by, self._holds = by, holds
        self._touched: dict[tuple[str, str], Partition] = {}
        self.done = Done()

    def load(self, loads: Loads) -> None:
        """Make copies claimable: what is new, and what is to be made anew."""
        self._begin([*loads.make, *loads.renew], {})

    def move(self, moves: Sequence[Move]) -> None:
        """Make the new copies of moves claimable; the old ones go when these are published.

        Moves are decided by all copies of a tier: where one was asked for, made or dropped since, nothing is moved.
        """
        if moves and not all(map(_as_seen, self._sources.values())):
            log.info("Nothing is moved in this run: copies have changed since they were looked at.")
            self.done.moved_on += len(moves)
            self.done.void.update(self._sources)
            return
        copies = [Copy(move.copy.name, move.target, "") for move in moves]
        self._begin(copies, {(move.copy.name, move.target): move.source for move in moves})

    def drop(self, drop: Drop) -> None:
        """Drop a copy, if all that it is dropped for is as it was seen."""
        partition = self._seen(drop.name, drop.location)
        relied = [(name[0], self._seen(name, location)) for name, location in drop.relies_on]
        if partition is None or any(seen is None for _, seen in relied) or not self._may(drop.name[0]):
            self.done.moved_on += 1
            return
        people = self._sources[drop.name[0]].copies.people
        try:
            for source, seen in relied:
                assert seen is not None  # looked at above
                if (source, seen.key) not in self._touched:
                    self._touched[source, seen.key] = people.purge(seen, (), self._by, _RELIED_ON)
            now = people.retract(partition.key, self._by, drop.why, partition)
            if now.status is not PartitionStatus.COMPLETED:
                people.finish(partition.key, self._by, drop.why, now)
        except PartitionUpdateError as error:
            log.info("Copy %s is left for the next run: %s", shown(partition.key), error)
            self.done.moved_on += 1
            return
        self.done.dropped.append(drop)

    def _begin(self, copies: Sequence[Copy], instead: dict[tuple[object, str], str]) -> None:
        by_source: dict[str, list[CopyWork]] = {}
        for copy in copies:
            name = copy.name
            assert isinstance(name, tuple)  # as all of them, see planning.copies.deciding
            shown_there = self._sources[name[0]].shown[name]
            work = CopyWork(
                location=copy.location,
                dataset=name[1],
                chunk=name[2],
                bytes=shown_there.bytes,
                instead_of=instead.get((name, copy.location)),
                wanted=shown_there.wanted,
            )
            if self._ready(name[0], work):
                by_source.setdefault(name[0], []).append(work)
        for source, row in by_source.items():
            if not self._may(source):
                self.done.moved_on += len(row)
                continue
            self._sources[source].copies.create_partitions(
                PartitionIdentifier(work.key, work.to_payload(), work.priority) for work in row
            )
            self.done.begun += row

    def _ready(self, source: str, work: CopyWork) -> bool:
        """Reset a partition that has ended; return whether the copy can be made claimable."""
        of_source = self._sources[source]
        seen = of_source.partitions.get(work.key)
        if seen is None:
            return True
        if not self._may(source):
            self.done.moved_on += 1
            return False
        try:
            of_source.copies.people.reset(work.key, self._by, "its copy is to be made", seen)
        except PartitionUpdateError as error:
            log.info("Copy %s is left for the next run: %s", shown(work.key), error)
            self.done.moved_on += 1
            return False
        return True

    def _may(self, source: str) -> bool:
        """Return whether a step may be taken in a source; after the first that may not, none is."""
        if source not in self.done.void and not self._holds(source):
            self.done.void.add(source)
        return source not in self.done.void

    def _seen(self, name: Name, location: str) -> Partition | None:
        of_source = self._sources[name[0]]
        work = CopyWork(location=location, dataset=name[1], chunk=name[2])
        return self._touched.get((name[0], work.key)) or of_source.partitions.get(work.key)


def _as_seen(of_source: OfSource) -> bool:
    """Return whether the copies of a source are those that were seen; it reads their partitions again."""
    now = {each.key: (each.status, each.token) for each in of_source.copies.looking.each()}
    return now == {key: (each.status, each.token) for key, each in of_source.partitions.items()}
