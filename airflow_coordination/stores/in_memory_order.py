"""The acquisition order of the in-memory store: five pairs of heaps with lazy deletion.

An entry is alive while it carries the serial number its partition was last queued under; dead ones are
dropped when they come to the top, or all at once when they outnumber the living.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import Final

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.steps import due_at
from airflow_coordination.values.status import PartitionStatus, Rank
from airflow_coordination.values.times import to_micros

Order = tuple[int, int, int]
Due = Generator[Partition, None, None]
Line = tuple[PartitionStatus, Rank]
"""Where a partition waits: what is assigned waits for its lease to end, what is closed for its time."""

_EXPIRING: Final[Line] = (PartitionStatus.ASSIGNED, Rank.CRASHED)
_REOPENING: Final[Line] = (PartitionStatus.CLOSED, Rank.REOPENED)
_SLACK: Final = 64


def _line(partition: Partition) -> Line:
    if partition.status is PartitionStatus.UNASSIGNED:
        return partition.status, partition.rank
    return _EXPIRING if partition.status is PartitionStatus.ASSIGNED else _REOPENING


def _order(partition: Partition, due: datetime) -> Order:
    """Return the place inside a class: priority, then oldest first; for "new" the supplier's order."""
    line = _line(partition)
    age = 0 if line == (PartitionStatus.UNASSIGNED, Rank.NEW) else to_micros(due)
    return partition.priority, age, partition.ordinal


class _Heaps:
    """One line: who waits for a time, and who is due."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, str, int]] = []
        self.due: list[tuple[Order, str, int]] = []

    def __len__(self) -> int:
        return len(self.waiting) + len(self.due)

    def drop(self, alive: Mapping[str, int]) -> None:
        """Forget the dead entries."""
        self.waiting = [entry for entry in self.waiting if alive.get(entry[1]) == entry[2]]
        self.due = [entry for entry in self.due if alive.get(entry[1]) == entry[2]]
        heapify(self.waiting)
        heapify(self.due)


class AcquisitionOrder:
    """Who is next, in O(log n) per change and per look.

    :param partitions: the source's partitions; the caller changes one, then calls :meth:`changed`.
    """

    def __init__(self, partitions: Mapping[str, Partition]) -> None:
        self._partitions = partitions
        self._serials: dict[str, int] = {}
        self._serial = 0
        self._lines: dict[Line, _Heaps] = {
            line: _Heaps() for line in (_EXPIRING, _REOPENING, *((PartitionStatus.UNASSIGNED, rank) for rank in Rank))
        }

    def changed(self, before: Partition | None, after: Partition) -> None:
        """Queue a partition anew after a change."""
        if before is not None and self._same_tenure_longer(before, after):
            return  # the entry is looked at again when its old time comes: renewals leave no dead entries
        self._serials.pop(after.key, None)
        if (due := due_at(after)) is None:
            return
        self._serial += 1
        self._serials[after.key] = self._serial
        heaps = self._lines[_line(after)]
        heappush(heaps.waiting, (to_micros(due), after.key, self._serial))
        if len(heaps) > 2 * len(self._serials) + _SLACK:
            heaps.drop(self._serials)

    @staticmethod
    def _same_tenure_longer(before: Partition, after: Partition) -> bool:
        if before.status is not PartitionStatus.ASSIGNED or after.status is not PartitionStatus.ASSIGNED:
            return False
        old, new = before.ownership_timeout, after.ownership_timeout
        return before.nonce == after.nonce and old is not None and new is not None and old <= new

    def in_order(self, ranks: tuple[Rank, ...], now: datetime) -> Due:
        """Yield what is due, class by class. Close the iterator: it puts back what it showed.

        :param ranks: the classes, in the order wished.
        """
        for rank in ranks:
            lines = [line for line in self._lines if line[1] is rank]
            with closing(self._walk(lines, now)) as walk:
                yield from walk

    def expired(self, now: datetime) -> Due:
        """Yield the partitions whose lease has ended; close the iterator."""
        return self._walk([_EXPIRING], now)

    def reopening(self, now: datetime) -> Due:
        """Yield the closed partitions whose time has come; close the iterator."""
        return self._walk([_REOPENING], now)

    def _walk(self, lines: list[Line], now: datetime) -> Due:
        shown: list[tuple[_Heaps, tuple[Order, str, int]]] = []
        try:
            while True:
                tops = [heaps for line in lines if self._settle_top(heaps := self._lines[line], now)]
                if not tops:
                    return
                first = min(tops, key=lambda heaps: heaps.due[0])
                entry = heappop(first.due)
                shown.append((first, entry))
                yield self._partitions[entry[1]]
        finally:
            for heaps, entry in shown:
                if self._serials.get(entry[1]) == entry[2]:
                    heappush(heaps.due, entry)

    def _settle_top(self, heaps: _Heaps, now: datetime) -> bool:
        """Bring a living, due entry in its right place to the top; return whether there is one."""
        moment = to_micros(now)
        while heaps.waiting and heaps.waiting[0][0] <= moment:
            _, key, serial = heappop(heaps.waiting)
            self._place(heaps, key, serial, now)
        while heaps.due:
            order, key, serial = heaps.due[0]
            if self._serials.get(key) == serial:
                due = due_at(self._partitions[key])
                if due is not None and due <= now and _order(self._partitions[key], due) == order:
                    return True
            heappop(heaps.due)
            self._place(heaps, key, serial, now)
        return False

    def _place(self, heaps: _Heaps, key: str, serial: int, now: datetime) -> None:
        due = due_at(self._partitions[key]) if self._serials.get(key) == serial else None
        if due is None:
            return
        if due <= now:
            heappush(heaps.due, (_order(self._partitions[key], due), key, serial))
        else:
            heappush(heaps.waiting, (to_micros(due), key, serial))
