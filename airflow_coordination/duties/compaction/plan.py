"""The plan: which groups merge what, why, which of them begin now, and why the others do not. No store, no clock.

Source: Druid, ``CompactSegments``. What is searched is ``planning.compaction``; here head records and overlays become
what it searches, and what it finds becomes groups: partitions of ``~merged/<source>``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from airflow_coordination.duties.compaction.remembered import Known, Remembered, Rounds, newest, told
from airflow_coordination.duties.compaction.snapshot import Seen, Snapshot
from airflow_coordination.outputs.membership import (
    by_key,
    chunk_of,
    dead_rows,
    intervals_of,
    keys_of,
    named,
    planned,
    planned_each,
    shares_of,
)
from airflow_coordination.outputs.merging import dataset_of, epoch_of, group_key
from airflow_coordination.outputs.overlays import Overlay
from airflow_coordination.planning.compaction.chunks import Head
from airflow_coordination.planning.compaction.configuration import CompactionConfig, Oversize, by_dataset
from airflow_coordination.planning.compaction.fingerprint import differences, fingerprint
from airflow_coordination.planning.compaction.groups import GroupWork
from airflow_coordination.planning.compaction.progress import Progress, progress
from airflow_coordination.planning.compaction.search import Dataset, Found, Group, Reason, search
from airflow_coordination.planning.compaction.slots import CompactionSlots, first
from airflow_coordination.planning.intervals import ETERNITY, newest_first
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.status import PartitionStatus

_PERIOD: Final = timedelta(minutes=30)


class State(StrEnum):
    """What becomes of a task in this run."""

    CREATE = "created"
    """Its group is new."""
    RESET = "begun again"
    """Its group has merged before."""
    UNDER_WAY = "under way"
    """Its group is claimable or held."""
    NO_SLOT = "waits for a slot"
    FAILED = "waits after failures"
    LEFT = "left by its worker"
    """Its worker was asked for exactly this, and has found nothing to do."""


BEGINS: Final = frozenset({State.CREATE, State.RESET})


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A group that is to merge something.

    :param key: of the group's partition.
    :param work: what its worker is told.
    :param reason: why.
    :param bytes: what it would read.
    :param heads: of so many partitions.
    :param changed: when something of it was published last.
    :param state: what becomes of it.
    :param detail: of that state, for people; may be empty.
    :param seen: the group's partition as it was read.
    """

    key: str
    work: GroupWork
    reason: str
    bytes: int
    heads: int
    changed: datetime | None = None
    state: State = State.CREATE
    detail: str = ""
    seen: Partition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is done, what waits, and what is to be remembered.

    :param tasks: the newest first.
    :param found: every chunk with its reason.
    :param progress: how far each dataset is, with what begins now.
    :param available: how many groups could begin.
    :param remembered: for the next run.
    """

    tasks: tuple[Task, ...]
    found: Found
    progress: Mapping[str, Progress]
    available: int
    remembered: Remembered

    @property
    def begins(self) -> list[Task]:
        """Return the tasks that begin."""
        return [task for task in self.tasks if task.state in BEGINS]


def plan(
    seen: Snapshot,
    configs: Iterable[CompactionConfig],
    slots: CompactionSlots,
    remembered: Remembered,
    period: timedelta = _PERIOD,
    available: int | None = None,
) -> Plan:
    """Return what a run does.

    :param seen: the source as it was read.
    :param configs: how its datasets are compacted.
    :param slots: how many groups may be claimable or held.
    :param remembered: what the run before has left.
    :param period: from one run to the next, for groups that have failed.
    :param available: how many groups may begin, where that is decided for several sources; else by the slots.
    :raises InvalidInputError: when two configurations are for one dataset, or one is too long for a payload.
    """
    wanted = by_dataset(configs)
    known = {name: _known(name, config, seen, remembered) for name, config in wanted.items()}
    datasets = [_Planned(config, known[name].epoch, seen.datasets[name]) for name, config in wanted.items()]
    found = search(Dataset(one.config, one.heads, one.locked) for one in datasets)
    tasks = [task for one in datasets for task in one.tasks(found)]
    tasks.sort(key=order)
    if available is None:
        available = slots.available(seen.places, busy_in(seen))
    judge = _Judge(seen, remembered, period)
    judged = _limited([judge.judged(task) for task in tasks], available)
    return Plan(
        tasks=tuple(judged),
        found=found,
        progress=progress(found, _begun(found, judged)),
        available=available,
        remembered=Remembered(
            datasets={
                name: replace(
                    each,
                    seen=seen.history or "",
                    looked_at=seen.now,
                    waits=bool(seen.datasets[name].locked)
                    or any(task.work.dataset == name and task.state is not State.LEFT for task in judged),
                )
                for name, each in known.items()
            },
            parked=judge.rounds(judged),
            slots=slots,
        ),
    )


def _known(name: str, config: CompactionConfig, seen: Snapshot, remembered: Remembered) -> Known:
    """Return a dataset's epoch: another one where its chunks are others, and where nobody knows how they were."""
    before = remembered.datasets.get(name)
    newest = max((epoch_of(key) for key in seen.groups if dataset_of(key) == name), default=0)
    same = before is not None and before.chunking == config.chunking
    epoch = max(before.epoch if before else 0, newest)
    return Known(epoch if same else epoch + 1, config.to_json(), config.chunking)


def busy_in(seen: Snapshot) -> int:
    """Return how many groups of a source take a slot."""
    return sum(_is_busy(group, seen) for group in seen.groups.values())


def order(task: Task) -> tuple[bool, object]:
    """Return the order in which tasks get slots: what has failed last, then the newest chunk first."""
    return _has_failed(task), (*newest_first(task.work.chunk), task.work.dataset, task.key)


def _is_busy(group: Partition, seen: Snapshot) -> bool:
    """Return whether a group takes a slot; one that waits for a branch to show would keep it for as long."""
    if group.status is PartitionStatus.COMPLETED or group.parked:
        return False
    dataset = seen.datasets.get(dataset_of(group.key))
    if dataset is None or not dataset.locked:
        return True
    chunk = GroupWork.from_payload(group.payload).chunk
    return not any(chunk.overlaps(interval) for interval in dataset.locked)


class _Planned:
    """One dataset: its heads as the search takes them, and the groups of what it finds."""

    def __init__(self, config: CompactionConfig, epoch: int, seen: Seen) -> None:
        self.config, self.epoch, self._seen = config, epoch, seen
        self.locked = seen.locked
        self._merged_in = by_key(seen.overlays, epoch)
        before = (one for one in seen.overlays.row if epoch_of(one.key) < epoch)
        self._merged_before = {key for one in before for key in keys_of(one)}
        self._covered_after: dict[int, set[tuple[str, str]]] = {}
        self._records = {record.key: record for record in seen.heads}
        intervals = intervals_of(seen.heads, config.interval_from_key, ETERNITY)
        self.heads = planned_each(seen.heads, intervals, self._merged_in)

    def tasks(self, found: Found) -> Iterator[Task]:
        """Yield the groups of what was found, of what is dead, and of what later epochs have taken over."""
        mine = [group for group in found.groups if group.dataset == self.config.dataset]
        there = {task.key: task for group in mine for task in self._of(group)}
        yield from there.values()
        if not self.config.enabled:
            return
        for overlay in self._seen.overlays.row:
            if epoch_of(overlay.key) == self.epoch and overlay.key not in there:
                yield from self._of_dead(overlay)
            elif epoch_of(overlay.key) < self.epoch:
                yield from self._of_given_up(overlay)

    def _of(self, group: Group) -> Iterator[Task]:
        """Yield the tasks of a chunk: of its own group, and of others that have merged some of it before."""
        own = group_key(self.epoch, group.dataset, _sorted_as(group.chunk.start), group.part)
        at_home: dict[str, list[Head]] = {}
        for head in group.heads:
            share = self._merged_in.get(str(head.name))
            at_home.setdefault(share.overlay.key if share else own, []).append(head)
        for key, heads in at_home.items():
            if any(self._is_stale(head, group.reason) for head in heads):
                overlay = self._seen.overlays.of(key)
                chunk = group.chunk if key == own or overlay is None else chunk_of(overlay)
                work = GroupWork(
                    config=self.config,
                    chunk=chunk,
                    part=group.part,
                    keys=self._range(heads),
                    epoch=self.epoch,
                    current_epoch=self.epoch,
                )
                yield self._task(key, work, self._why(group), heads)

    def _is_stale(self, head: Head, reason: Reason) -> bool:
        """Return whether a chunk is compacted because of this head, too."""
        state, spec = head.merged_with, self.config.spec
        if state is None or reason is Reason.LARGE_FILE:
            return True
        return fingerprint(state) != fingerprint(spec) if reason is Reason.MIXED else bool(differences(spec, state))

    def _range(self, heads: Sequence[Head]) -> tuple[str, str] | None:
        """Return the first and the last key of what a part takes in; ``None`` where chunks have no parts."""
        if self.config.oversize is not Oversize.SPLIT:
            return None
        taken = sorted(str(head.name) for head in heads if str(head.name) not in self._merged_in)
        return (taken[0], taken[-1]) if taken else ("", "")

    def _why(self, group: Group) -> str:
        new = (head.name for head in group.heads if head.merged_with is None)
        if group.reason is Reason.NEVER and self._merged_before and self._merged_before.issuperset(new):
            return f"{Reason.CHANGED}: other blocks belong together than before"
        return str(group)

    def _of_dead(self, overlay: Overlay) -> Iterator[Task]:
        """Yield the group of an overlay with too many rows that nobody reads any more."""
        heads = self._heads_of(overlay)
        places = named(heads)
        if not places <= {origin.place for origin in overlay.covers}:
            return  # what was added follows what is merged: the chunk has work anyway
        rows, dead = sum(origin.rows for origin in overlay.covers), dead_rows(overlay, places)
        if dead * 100 > rows * self.config.dead_rows_percent:
            work = self._again(overlay, self.epoch)
            shares = shares_of(overlay)
            lines = [planned(head, work.chunk, shares.get(head.key)) for head in heads]
            yield self._task(overlay.key, work, f"dead rows {dead * 100 // rows} %", lines)

    def _of_given_up(self, overlay: Overlay) -> Iterator[Task]:
        """Yield the group of an overlay of which later epochs have everything."""
        epoch = epoch_of(overlay.key)
        if epoch not in self._covered_after:
            later = [one for one in self._seen.overlays.row if epoch_of(one.key) > epoch]
            self._covered_after[epoch] = {origin.place for one in later for origin in one.covers}
        if overlay.covers and named(self._heads_of(overlay)) <= self._covered_after[epoch]:
            work = self._again(overlay, epoch)
            yield self._task(overlay.key, work, "later epochs have everything", [])

    def _heads_of(self, overlay: Overlay) -> list[HeadRecord]:
        """Return what the partitions have published that an overlay has rows of."""
        return [self._records[key] for key in keys_of(overlay) if key in self._records]

    def _again(self, overlay: Overlay, epoch: int) -> GroupWork:
        merged = overlay.manifest.merged
        part = merged.part if merged else 0
        return GroupWork(
            config=self.config,
            chunk=chunk_of(overlay),
            part=part,
            keys=self._range([]),
            epoch=epoch,
            current_epoch=self.epoch,
        )

    def _task(self, key: str, work: GroupWork, reason: str, heads: Sequence[Head]) -> Task:
        records = [self._records[str(head.name)] for head in heads]
        digests = sorted(block.digest for record in records for block in record.blocks)
        said = json.dumps([digests, work.to_payload()], sort_keys=True)
        wanted = hashlib.sha256(said.encode()).hexdigest()[:16]
        published = [record.published_at for record in records if record.published_at]
        return Task(
            key=key,
            work=replace(work, wanted=wanted),
            reason=reason,
            bytes=sum(head.bytes for head in heads),
            heads=len(heads),
            changed=max(published, default=None),
        )


def _sorted_as(moment: datetime) -> str:
    """Return a moment as text that sorts by time: it stands in keys."""
    return moment.isoformat().replace("+00:00", "Z")


class _Judge:
    """Says what becomes of a task, by its group as it was read."""

    def __init__(self, seen: Snapshot, remembered: Remembered, period: timedelta) -> None:
        self._seen, self._before, self._period = seen, remembered, period

    def judged(self, task: Task) -> Task:
        """Return a task with its state, as if there were slots for all."""
        group = self._seen.groups.get(task.key)
        if group is None:
            return task
        task = replace(task, seen=group)
        if group.parked:
            return self._of_parked(task, group)
        if group.status is not PartitionStatus.COMPLETED:
            return replace(task, state=State.UNDER_WAY, detail=f"held by {group.owner}" if group.owner else "claimable")
        asked = (group.payload or {}).get("wanted")
        return replace(task, state=State.LEFT if asked == task.work.wanted else State.RESET)

    def _of_parked(self, task: Task, group: Partition) -> Task:
        rounds = self._before.parked.get(task.key, Rounds())
        parked = group.updated_at or self._seen.now
        failed = max(1, group.failures + group.lost_leases)
        failures, number = rounds.at(parked, failed, group.last_error or "")
        if failures.is_due(self._seen.now, self._period, task.changed):
            return replace(task, state=State.RESET)
        return replace(task, state=State.FAILED, detail=told(failures, number, self._period))

    def rounds(self, tasks: Iterable[Task]) -> dict[str, Rounds]:
        """Return what is to be remembered of groups that have failed, until they succeed: of the newest 2,000."""
        again = {task.key for task in tasks if task.state is State.RESET and _has_failed(task)}
        kept = {}
        for key, group in self._seen.groups.items():
            before = self._before.parked.get(key)
            if key in again:
                old = before or Rounds()
                failed = max(1, group.failures + group.lost_leases)
                kept[key] = (self._seen.now, Rounds(old.number + 1, old.failures + failed))
            elif before is not None and group.status is not PartitionStatus.COMPLETED:
                kept[key] = (group.updated_at or self._seen.now, before)
        return newest(kept)


def _limited(tasks: Sequence[Task], available: int) -> list[Task]:
    """Return the tasks, those that would begin only as far as there are slots: what has failed comes last.

    Otherwise groups that fail again and again would keep the slots from older chunks that can be merged.
    """
    row = sorted((task for task in tasks if task.state in BEGINS), key=_has_failed)
    begin, _ = first([(task.key, 1) for task in row], available)
    chosen = set(begin)
    return [
        replace(task, state=State.NO_SLOT) if task.state in BEGINS and task.key not in chosen else task
        for task in tasks
    ]


def _has_failed(task: Task) -> bool:
    return task.seen is not None and task.seen.parked


def _begun(found: Found, tasks: Iterable[Task]) -> list[Group]:
    """Return the chunks of which something begins."""
    places = {(task.work.dataset, task.work.chunk, task.work.part) for task in tasks if task.state in BEGINS}
    return [group for group in found.groups if (group.dataset, group.chunk, group.part) in places]
