"""What the in-memory store keeps of one source, in the acquisition order."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import singledispatchmethod
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Any, Final

from airflow_coordination.protocol import steps
from airflow_coordination.protocol.beside.chunk_sums import ChunkSums
from airflow_coordination.protocol.beside.documents import ABSENT, BranchCounts, Document, SetDocument
from airflow_coordination.protocol.beside.ended_sums import EndedSums
from airflow_coordination.protocol.follow_up import FollowUp, Forget, of_parked
from airflow_coordination.protocol.hierarchy import status_in
from airflow_coordination.protocol.pages import number_of_place
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure, Remembered, ended_by
from airflow_coordination.protocol.pause import NEVER_PAUSED, Pause
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.side_writes import (
    Audit,
    CountFailure,
    EmptyHeads,
    ForgetFailures,
    PutFollowUp,
    PutHeads,
    Record,
    TenureEnded,
    of_forgetting,
    of_interval,
    of_pause,
    retracted,
)
from airflow_coordination.protocol.steps import due_at
from airflow_coordination.protocol.writes import ReleaseChild, SetInterval, SetPause
from airflow_coordination.values.failing import MOST_COUNTED, Failing
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
    """The acquisition order: who is next, in O(log n) per change and per look.

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


HISTORY_LENGTH: Final = 20_000
"""The most ended tenures remembered of each source; the oldest go first."""


class SortedKeys:
    """Keys in byte order, sorted when somebody asks: code points sort as UTF-8 bytes do."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._in_order = True

    def add(self, key: str) -> None:
        """Add a key that is not there yet."""
        self._keys.append(key)
        self._in_order = False

    def above(self, key: str | None) -> Iterator[str]:
        """Yield the keys above ``key``, all for ``None``."""
        if not self._in_order:
            self._keys.sort()
            self._in_order = True
        first = 0 if key is None else bisect_right(self._keys, key)
        return (self._keys[place] for place in range(first, len(self._keys)))


class StoredSource:
    """One source: its partitions with their indexes, its head records, its audit, its history.

    The caller holds the store's lock.
    """

    def __init__(self) -> None:
        self.partitions: dict[str, Partition] = {}
        self.keys = SortedKeys()
        self.order = AcquisitionOrder(self.partitions)
        self.assigned: dict[str, None] = {}
        self.counts: Counter[PartitionStatus] = Counter()
        self.ordinal = 0
        self.children: dict[str, set[str]] = {}
        self.heads: dict[str, dict[str, HeadRecord]] = {}
        self.head_keys = SortedKeys()
        self.audit: list[dict[str, Any]] = []
        self._pause = NEVER_PAUSED
        self._failing: CountFailure | None = None
        self._failed: set[str] = set()
        self.chunks: dict[tuple[str, str], ChunkSums] = {}
        self.documents: dict[str, list[Document]] = {}
        self.ended: dict[datetime, EndedSums] = {}
        self.follow_ups: dict[tuple[str, int, str], FollowUp] = {}
        self._ended: deque[Remembered] = deque(maxlen=HISTORY_LENGTH)

    def put(self, after: Partition) -> Partition:
        """Store a partition, and return it."""
        before = self.partitions.get(after.key)
        if before is None:
            self.keys.add(after.key)
        elif not before.deleted:
            self.counts[before.status] -= 1
        self.counts[after.status] += not after.deleted
        self.partitions[after.key] = after
        self.order.changed(before, after)
        if after.status is PartitionStatus.ASSIGNED:
            self.assigned[after.key] = None
        else:
            self.assigned.pop(after.key, None)
        return after

    def put_child(self, after: Partition) -> None:
        """Store a new partition, and stamp each parent that it waits for; ``children`` only says where to look."""
        self.put(after)
        for parent in after.parents:
            self.children.setdefault(parent, set()).add(after.key)
        for parent in after.waits_for:
            self.put(replace(self.partitions[parent], awaited_op=after.create_op))

    def release_children(self, finished: Partition, now: datetime) -> int:
        """Let nobody wait any more for what has finished; return how many did."""
        released = 0
        for key in self.children.get(finished.key, ()):
            release = ReleaseChild(source=finished.source, key=key, parent=finished.key)
            if (after := steps.step(release, self.partitions[key], now)) is not None:
                self.put(after)
                released += 1
        return released

    def status_of(self, key: str) -> PartitionStatus | None:
        """Return the status of a parent, ``None`` where there is none."""
        return status_in(self.partitions, key)

    def step(self, after: Partition, records: Iterable[Record], now: datetime) -> Partition:
        """Store a partition after a step, with what the step writes beside it, and return it."""
        before = self.partitions[after.key]
        for record in records:
            if not isinstance(record, TenureEnded):
                self._note(record, now)
            elif (ended := ended_by(before, after, record)) is not None:
                self._ended.append(ended)
        return self.put(after)

    def pause(self, now: datetime) -> Pause:
        """Return whether the source is paused, and what has failed since the last success and the last pause."""
        until = self._pause.until
        pause = replace(self._pause, paused=False) if until is not None and until <= now else self._pause
        if self._failing is None:
            return pause
        return replace(pause, failing=Failing(self._failing.error, len(self._failed)))

    def set_pause(self, write: SetPause, now: datetime) -> bool:
        """Pause or resume the source if nobody has since the person looked; return whether this did."""
        if self._pause.op != write.seen:
            return False
        until = None if write.lasts is None else now + write.lasts
        self._pause = Pause(write.paused, write.by, write.why, now, write.op, until)
        self._forget_failures(ForgetFailures(write.source), now)
        self._note(of_pause(write), now)
        return True

    def forget_follow_up(self, write: Forget, now: datetime) -> None:
        """Take a note away undone, and write down who did; nothing if it is not there."""
        if self.take_away(write.note, now):
            self._note(of_forgetting(write), now)

    def set_document(self, write: SetDocument, now: datetime) -> bool:
        """Write the next version of a document if the newest one is as seen; return whether this operation has."""
        versions = self.documents.setdefault(write.name, [])
        if (versions[-1].version if versions else ABSENT) == write.seen:
            versions.append(write.written(now))
        return any(each.version == write.version and each.op == write.op for each in reversed(versions))

    def forget_versions(self, beginning: str, before: datetime) -> int:
        """Remove versions that no longer counted at a moment, and return how many."""
        forgotten = 0
        for name in (each for each in self.documents if each.startswith(beginning)):
            versions = self.documents[name]
            at = max((each.version for each in versions if each.at <= before), default=ABSENT)
            self.documents[name] = [each for each in versions if each.version >= at]
            forgotten += len(versions) - len(self.documents[name])
        return forgotten

    def newest_documents(self) -> list[Document]:
        """Return the newest version of each document, by name."""
        kept = sorted(self.documents.items(), key=lambda each: each[0].encode())
        return [versions[-1] for _, versions in kept if versions]

    def forget_chunks(self, dataset: str) -> None:
        """Remove all sums of a dataset."""
        for place in [place for place in self.chunks if place[0] == dataset]:
            del self.chunks[place]

    def branch_counts(self, branch: int) -> BranchCounts:
        """Return how far the partitions of a branch are."""
        found = self.in_branch(branch)
        completed = sum(each.status is PartitionStatus.COMPLETED for each in found)
        return BranchCounts(len(found), completed, sum(each.parked for each in found))

    def in_branch(self, branch: int) -> list[Partition]:
        """Return the partitions that run in a branch, by key."""
        found = (self.partitions[key] for key in sorted(self.partitions, key=str.encode))
        return [each for each in found if each.branch == branch and not each.deleted]

    def set_interval(self, write: SetInterval, now: datetime) -> bool:
        """Give a head record an interval if it is as it was seen, and write down who did; return whether it was."""
        head = self.heads.get(write.key, {}).get(write.dataset)
        seen = write.seen_op, write.seen_start, write.seen_end
        if head is None or (head.op, head.interval_start, head.interval_end) != seen:
            return False
        self._put_head(replace(head, interval_start=write.start, interval_end=write.end))
        self._note(of_interval(write), now)
        return True

    def noted(self, key: str | None) -> Iterator[FollowUp]:
        """Yield what is to follow endings and parkings, of one partition if it is named."""
        yield from (note for note in self.follow_ups.values() if key in (None, note.key))
        parked = self.partitions.values() if key is None else filter(None, [self.partitions.get(key)])
        yield from filter(None, map(of_parked, parked))

    def take_away(self, done: FollowUp, now: datetime) -> bool:
        """Take a note away; return whether it was there."""
        if self.follow_ups.pop(place_of(done), None) is not None:
            return True
        partition = self.partitions.get(done.key)
        noted = partition and of_parked(partition)
        after = partition and noted and steps.followed(done, partition, now)
        return bool(after and self.put(after))

    def history(self, key: str | None = None) -> Iterator[PastTenure]:
        """Return the tenures that have ended, the newest first, of one partition if it is named."""
        return (ended.past_tenure() for ended in reversed(self._ended) if key in (None, ended.key))

    @singledispatchmethod
    def _note(self, record: Any, now: datetime) -> None:
        """Write down what a step writes beside its partition."""
        raise TypeError(f"not a record of the protocol: {record!r}")

    @_note.register
    def _put_heads(self, record: PutHeads, now: datetime) -> None:
        for head in record.heads:
            self._put_head(replace(head, published_at=now))

    @_note.register
    def _empty_heads(self, record: EmptyHeads, now: datetime) -> None:
        for head in list(self.heads.get(record.key, {}).values()):
            if record.means(head.dataset):
                self._put_head(replace(retracted(head), published_at=now))

    @_note.register
    def _audit(self, record: Audit, now: datetime) -> None:
        said = {"action": record.action, "by": record.by, "why": record.why, "batch": record.batch}
        self.audit.append({"key": record.key, "at": now, **said})

    def audited(self, key: str | None, limit: int, before: str | None) -> list[dict[str, Any]]:
        """Return the people's actions on a partition, or the newest of all before a place, oldest first."""
        if key is not None:
            return [entry.copy() for entry in self.audit if entry["key"] == key]
        numbered = list(enumerate(self.audit[: number_of_place(before)]))
        return [{**entry, "place": str(number)} for number, entry in numbered[-limit:]]

    @_note.register
    def _put_follow_up(self, record: PutFollowUp, now: datetime) -> None:
        noted = replace(record.follow_up, noted_at=now)
        self.follow_ups[place_of(noted)] = noted

    @_note.register
    def _count_failure(self, record: CountFailure, now: datetime) -> None:
        if self._failing is None or self._failing.error != record.error:
            self._failing, self._failed = record, set()
        if len(self._failed) < MOST_COUNTED:
            self._failed.add(record.mark)

    @_note.register
    def _forget_failures(self, record: ForgetFailures, now: datetime) -> None:
        self._failing, self._failed = None, set()

    def _put_head(self, head: HeadRecord) -> None:
        """Store a head record in the place of the one before."""
        if head.key not in self.heads:
            self.head_keys.add(head.key)
        self.heads.setdefault(head.key, {})[head.dataset] = head

    def heads_above(self, place: tuple[str, str | None], dataset: str | None, key: str | None) -> Iterator[HeadRecord]:
        """Yield the head records above a key, or above a dataset of it, by key and dataset."""
        after, after_dataset = place
        above = self.head_keys.above(after) if key is None else iter([key] if key > after else [])
        here = [after] if after_dataset is not None and key in (None, after) else []
        for k in filter(self.heads.__contains__, chain(here, above)):
            for name, head in sorted(self.heads[k].items()):
                if dataset in (None, name) and (k != after or name > (after_dataset or "")):
                    yield head

    def held(self) -> Iterator[Partition]:
        """Yield what is ASSIGNED."""
        return (self.partitions[key] for key in self.assigned)


def place_of(follow_up: FollowUp) -> tuple[str, int, str]:
    """Return what the notes of a source are ordered by."""
    return follow_up.key, follow_up.token, follow_up.op
