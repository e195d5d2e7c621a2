"""Publishers, compactors, a collector without a margin, and readers who read in steps: what each does, once.

They work in virtual time and as real processes alike, and every call of theirs is noted in a history.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from unittest.mock import patch

from airflow_coordination.leases import Lease
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.outputs import Attempt, Manifest, OutputError, collector
from airflow_coordination.outputs.adding import predecessor
from airflow_coordination.outputs.layout import BLOCK, MARKER
from airflow_coordination.outputs.manifests import references
from airflow_coordination.outputs.merging import epoch_of
from airflow_coordination.outputs.overlays import Overlays, merged_source
from airflow_coordination.outputs.published import follow, manifests_in, starts_of, walks
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.writes import Action
from airflow_coordination.systems.objects.storage import join, list_files, parent
from airflow_coordination.testing.history import Kind, RecordedCoordinator, Told
from airflow_coordination.testing.history.operations import Operation
from airflow_coordination.values.blocks import Block, Mode
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.times import Clock
from tests.merging.truth import Deletions, Findings, Readers, Truth
from tests.simulation.behaviour import Abandoned, Behaviour, Habits
from tests.upkeep import DATASET, SOURCE, Dataset, group, lines

PARTS: Final = 2
"""Groups of an epoch."""
_ON_PARTITIONS: Final = (*[Action.RESET] * 12, Action.REOPEN, Action.RELEASE, Action.RETRACT)
_NONE_READ: Final = Told.NOT_DONE, dict[str, object]()


@dataclass
class Tools:
    """What an actor works with.

    :param one: its coordinator: of partitions, or of groups.
    :param data: the dataset, as its process sees the store.
    :param keys: of all partitions.
    :param epoch: returns the present epoch of groups.
    """

    one: RecordedCoordinator
    data: Dataset
    clock: Clock
    draw: random.Random
    habits: Habits
    keeper: type[Heartbeat]
    truth: Truth
    readers: Readers
    keys: Sequence[str]
    epoch: Callable[[], int]
    found: Findings

    def pause(self) -> None:
        """Wait a little: others work meanwhile."""
        self.clock.sleep(self.draw.random() * self.habits.pace)


class Publishing(Behaviour):
    """All that a worker may do with leases; its blocks are files."""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools.one, tools.clock, tools.draw, tools.habits, tools.keeper)
        self._tools = tools
        self._lease: Lease | None = None
        self._attempt: Attempt | None = None
        self._own: list[Block] = []

    def work(self, lease: Lease) -> None:
        """Work on a partition to some end."""
        self._lease, self._own, self._attempt = lease, [], self._tools.data.attempt(lease)
        super().work(lease)

    def then(self, lease: Lease) -> str | None:
        """Return nothing: what is still to follow an ending holds up resets."""

    def block(self) -> Block:
        """Write a block as ``lease.publish`` does: all of a tenure replace or all add, each follows the one before."""
        assert self._lease is not None
        tools, lease = self._tools, self._lease
        known = [*lease.chain.partition.staged, *self._own]
        mode: Mode = known[0].mode if known else self._random.choice(("append", "replace"))
        self._made += 1
        name = f"{lease.key}/{lease.fence.token}/{self.one.process}/{self._made}"
        rows = [f"{name}/{number}" for number in range(self._random.randint(1, 3))]
        follows = self._before(known, mode)
        block = tools.data.block(lease, rows, mode, follows, self._attempt)
        tools.truth.note(block.digest, [*rows, *(tools.truth.of(follows.digest) if follows else ())])
        tools.found.counts["blocks"] += 1
        self._own.append(block)
        return block

    def _before(self, known: Sequence[Block], mode: Mode) -> Block | None:
        """Return what a block follows; one in ten begins a chain of its own, as on another kind of storage."""
        assert self._lease is not None
        assert self._attempt is not None
        if self._random.random() < 0.1:
            return None
        data, partition = self._tools.data, self._lease.chain.partition
        found = predecessor(data.store, partition, known, self._attempt.open(DATASET), mode)
        return found and Block(DATASET, found.address, found.digest)


class Publisher:
    """Publishes; now and then does what people do to partitions."""

    def __init__(self, tools: Tools) -> None:
        self._tools, self._behaviour = tools, Publishing(tools)
        self._created = False

    def do(self) -> None:
        """Do something to a partition, or work on one."""
        tools = self._tools
        if not self._created:
            tools.one.create_partitions(tools.keys)
            self._created = True
        if tools.draw.random() < 0.8:
            with suppress(CoordinationError):
                tools.one.act(tools.draw.choice(_ON_PARTITIONS), tools.draw.choice(tools.keys))
        lease = self._behaviour.acquire(lambda: tools.draw.choice(tools.keys))
        if lease is None:
            tools.pause()
        else:
            self._behaviour.work(lease)


class Merging(Behaviour):
    """What a worker does with the lease of a group: reads, merges, checks, ends."""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools.one, tools.clock, tools.draw, tools.habits, tools.keeper)
        self._tools = tools

    def _tenure(self, lease: Lease, lost: Callable[[], bool]) -> None:
        counts = self._tools.found.counts
        self._pause()
        try:
            manifest = self._merged(lease)
            if manifest is None:
                self._give_up(lease)
                return
        except OutputError as error:
            counts["refused by rule walk" if "would no longer stand for" in error.problem else "merges too late"] += 1
            self._give_up(lease)
            return
        except FileNotFoundError:  # there is no margin for it: what it was about to merge was replaced
            counts["merges too late"] += 1
            self._give_up(lease)
            return
        self._pause()
        if lost():
            raise Abandoned
        self._once_or_insist(lambda: self.one.complete(lease, [manifest.block("replace")]))
        counts["merged" if manifest.merged and manifest.merged.covers else "given up for a later epoch"] += 1

    def _merged(self, lease: Lease) -> Manifest | None:
        """Return the new overlay; none where a group of an earlier epoch has been given up already."""
        data = self._tools.data
        overlays = data.overlays()
        present = overlays.of(lease.key)
        self._pause()
        if present and epoch_of(lease.key) < self._tools.epoch():
            empty = data.give_up(lease) if present.covers else None
            if empty or not present.covers:
                return empty
        return data.merge(lease, self._members(lease.key, overlays))

    def _members(self, key: str, overlays: Overlays) -> list[str]:
        """Return what a group takes: its share and what it has, mostly; rule *walk* is there for the rest."""
        present = overlays.of(key)
        own = {origin.key for origin in present.covers} if present else set()
        return [each for each in self._tools.keys if self._random.random() < (0.7 if each in own else 0.5)]


class Compactor:
    """Plans a group now and then, and works on groups."""

    def __init__(self, tools: Tools) -> None:
        self._tools, self._behaviour = tools, Merging(tools)
        self._created: set[str] = set()

    def do(self) -> None:
        """Let a group run again, or work on one."""
        tools = self._tools
        if tools.draw.random() < 0.6:
            with suppress(CoordinationError):
                self._plan()
        lease = self._behaviour.acquire(lambda: self._group())
        if lease is None:
            tools.pause()
        else:
            self._behaviour.work(lease)

    def _group(self) -> str:
        draw, epoch = self._tools.draw, self._tools.epoch()
        return group(draw.randrange(PARTS), epoch if draw.random() < 0.6 else draw.randint(1, epoch))

    def _plan(self) -> None:
        key = self._group()
        if key not in self._created:
            self._tools.one.create_partitions([key])
            self._created.add(key)
        self._tools.one.act(self._tools.draw.choice((Action.RESET, Action.RESET, Action.REOPEN, Action.RELEASE)), key)


class Collector:
    """Deletes at once what nobody needs, but for what somebody reads."""

    def __init__(self, tools: Tools) -> None:
        self._tools, self.deletions = tools, Deletions(tools.readers)

    def do(self) -> None:
        """Collect once, partitions and groups."""
        self.deletions.go_on()
        for source in (SOURCE, GROUPS):
            self._collect(source)
            self.deletions.go_on()

    def _collect(self, source: str) -> None:
        data, found = self._tools.data, self._tools.found
        with patch.object(collector, "delete", self.deletions.delete):
            done = collector.collect(
                data.store, source, data.root, older_than=timedelta(0), dry_run=False, keep_originals=False
            )
        found.counts["collections"] += 1
        found.counts["blocks deleted"] += done.blocks
        found.broken += [f"S21: the collector says: {error}" for error in done.errors]


class Reader:
    """Reads the whole dataset in steps: overlays, head records, manifests, files; and knows what it must find."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def do(self) -> None:
        """Read once."""
        with self._tools.readers.reading():
            self.read()
        self._tools.pause()

    def read(self) -> None:
        """Read, and note what is not as it was published."""
        tools = self._tools
        heads: list[HeadRecord] = []
        overlays = Overlays()
        try:
            overlays = tools.data.overlays()
            tools.pause()
            heads = self._heads()
            tools.pause()
            row = walks(starts_of(heads), overlays)
            found = [line for manifest in manifests_in(row) for line in lines(manifest)]
        except (OutputError, FileNotFoundError) as error:
            tools.found.broken.append(f"S21: a file is missing: {error}\n{_seen(overlays, heads)}")
            return
        tools.found.counts["reads"] += 1
        tools.found.counts["partitions read"] += len(heads)
        tools.found.counts["blocks read from overlays"] += sum(walk.place is not None for walk in row)
        self._compare(Counter(found), heads, overlays)

    def _compare(self, found: Counter[str], heads: Sequence[HeadRecord], overlays: Overlays) -> None:
        expected = Counter(row for head in heads for block in head.blocks for row in self._tools.truth.of(block.digest))
        if found != expected:
            more, less = sorted((found - expected).elements()), sorted((expected - found).elements())
            self._tools.found.broken.append(
                f"S21: {len(more)} rows too many {more[:4]}, {len(less)} missing {less[:4]}\n{_seen(overlays, heads)}"
            )

    def _heads(self) -> list[HeadRecord]:
        """Read all head records; the history has it as a read of what each partition has published (S12)."""
        with self._noted() as answers:
            heads = self._tools.data.head_records()
            answers |= {head.key: {DATASET: tuple(block.digest for block in head.blocks)} for head in heads}
        return heads

    @contextmanager
    def _noted(self) -> Iterator[dict[str, Mapping[str, tuple[str, ...]]]]:
        one, answers = self._tools.one, dict[str, Mapping[str, tuple[str, ...]]]()
        made: list[Operation] = [one.log.call(one.process, Kind.PUBLISHED, key, None, {}) for key in self._tools.keys]
        try:
            yield answers
        except CoordinationError:
            for each in made:
                one.log.answer(each, *_NONE_READ)
            raise
        for each in made:
            one.log.answer(each, Told.OK, {"published": answers.get(each.key, {})})


def _seen(overlays: Overlays, heads: Sequence[HeadRecord]) -> str:
    """Return what a reader had read, for people."""
    of = [
        f"  overlay of {each.key}, fence {each.manifest.fence}: {[(o.key, o.digest[:8]) for o in each.covers]}"
        for each in overlays.row
    ]
    named = [f"  {head.key}, token {head.token}: {[block.digest[:8] for block in head.blocks]}" for head in heads]
    return "\n".join([*of, *named])


def left_behind(tools: Tools) -> Iterator[str]:
    """Yield what is still stored and nobody needs, when everything has ended and was collected, or is parked.

    The collector leaves and names a directory without a marker. There is one where a publisher that was stopped goes on
    writing when its lease is lost and its directory collected already, which a margin rules out.
    """
    overlays, heads, root = tools.data.overlays(), tools.data.heads(), str(tools.data.root)
    parked = [one for key in tools.keys if (one := tools.one.partition(key)) and one.staged]
    staged = [(one.source, one.key, reference) for one in parked for reference in references(one.staged)]
    needed = {each.directory for each in follow([*staged, *starts_of(heads)], overlays)}
    needed |= {each.manifest.directory for each in overlays.row}
    stored = {join(root, file.path) for file in list_files(root)}
    for directory in sorted({parent(address) for address in stored} - needed):
        if f"/{BLOCK}=" in directory:
            if join(parent(directory), MARKER) in stored:
                yield f"S12: {directory} is left, and nobody needs it"
            else:
                tools.found.counts["blocks written into collected directories"] += 1


GROUPS: Final = merged_source(SOURCE)
SOURCES: Final = {"publisher": SOURCE, "reader": SOURCE, "compactor": GROUPS, "collector": SOURCE}
ROLES: Final = {"publisher": Publisher, "compactor": Compactor, "collector": Collector, "reader": Reader}
