"""A look at a branch before it counts: of each of its partitions what shows without it, and what shows with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain, groupby
from typing import Any

from airflow_coordination.duties.branches.running import partitions_of
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.heads.pages import head_pages
from airflow_coordination.outputs.heads.showing import steadily
from airflow_coordination.planning.view.showing import as_if_published, branch_of, by_dataset, hiding, newest
from airflow_coordination.planning.view.view import Branch, BranchState, Hidden, View
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import check_key, identifier_of
from airflow_coordination.values.status import PartitionStatus


class Change(StrEnum):
    """What a branch does to the rows of one partition in one dataset."""

    CHANGED = "changed"
    """It has others in their place."""
    NEW = "new"
    """There are none without it."""
    GONE = "gone"
    """There are none with it: the partition was retired in it, or has published no rows."""
    MISSING = "missing"
    """The partition has completed in it and published nothing to this dataset: what it had stays."""
    UNFINISHED = "unfinished"
    """The partition has not completed in it, and published nothing to this dataset yet: what it had stays."""
    SINCE = "published since"
    """The partition has published anew elsewhere, which stays: the newest publication of a partition shows."""
    HIDDEN = "hidden"
    """It has some, of an interval that is hidden: they show when that is restored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLook:
    """One partition in one dataset.

    :param key: the partition key.
    :param dataset: as users name it.
    :param change: what the branch does to it.
    :param status: of the partition; ``None`` when it does not run in the branch any more.
    :param before: the head record that readers see without the branch.
    :param after: the one that they see with it.
    :param hidden: what hides what the branch has.
    """

    key: str
    dataset: str
    change: Change
    status: PartitionStatus | None = None
    before: HeadRecord | None = None
    after: HeadRecord | None = None
    hidden: Hidden | None = None

    @property
    def rows_before(self) -> int:
        """How many rows readers see without the branch."""
        return self.before.rows if self.before else 0

    @property
    def rows_after(self) -> int:
        """How many they see with it."""
        return self.after.rows if self.after else 0

    @property
    def bytes_before(self) -> int:
        """How many bytes these take without it."""
        return self.before.bytes if self.before else 0

    @property
    def bytes_after(self) -> int:
        """How many with it."""
        return self.after.bytes if self.after else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyContents:
    """The rows of one partition in one dataset, compared whatever their order.

    :param key: the partition key.
    :param dataset: as users name it.
    :param rows_before: how many were read without the branch.
    :param rows_after: how many with it.
    :param same: whether they have the same values in the columns that both have.
    """

    key: str
    dataset: str
    rows_before: int
    rows_after: int
    same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetContents:
    """The rows of one dataset, compared by partition.

    :param dataset: as users name it.
    :param keys: by partition key.
    :param only_before: columns that no rows with the branch have; they were not compared.
    :param only_after: columns that no rows without it have; they were not compared.
    :param retyped: columns of other types, with both: ``("int", "bigint")``. Their values were compared as Spark unites
        them.
    """

    dataset: str
    keys: tuple[KeyContents, ...] = ()
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    retyped: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def different(self) -> tuple[KeyContents, ...]:
        """The partitions whose rows are others."""
        return tuple(each for each in self.keys if not each.same)


Contents = tuple[DatasetContents, ...]
"""What was compared, by dataset."""
Compare = Callable[[PartitionStore, "BranchLook", Any], Contents]
"""Reads and compares the rows of a look with a Spark session: ``spark.branch_look.compared``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchLook:
    """What a branch changes for readers, by partition and dataset, as of one version of the view.

    :param source: the stored source identifier.
    :param branch: the branch.
    :param keys: by partition key, then by dataset. What it leaves as it is, because it has nothing in its place, is
        among them as *missing*, *unfinished* or *published since*.
    :param unfinished: keys of partitions that have not completed in it; it is not published before they have.
    :param silent: keys of partitions that have completed in it and published nothing to any dataset.
    """

    source: str
    branch: Branch
    keys: tuple[KeyLook, ...]
    unfinished: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    _store: PartitionStore = field(repr=False, compare=False)
    _compare: Compare | None = field(default=None, repr=False, compare=False)

    def of(self, *changes: Change) -> tuple[KeyLook, ...]:
        """Return those of some kinds."""
        return tuple(each for each in self.keys if each.change in changes)

    @property
    def changed(self) -> tuple[KeyLook, ...]:
        """Those that have other rows with it."""
        return self.of(Change.CHANGED)

    @property
    def new(self) -> tuple[KeyLook, ...]:
        """Those that have rows with it alone."""
        return self.of(Change.NEW)

    @property
    def gone(self) -> tuple[KeyLook, ...]:
        """Those that have none with it."""
        return self.of(Change.GONE)

    @property
    def missing(self) -> tuple[KeyLook, ...]:
        """Those that have completed in it, without anything in the place of what they had."""
        return self.of(Change.MISSING)

    @property
    def since(self) -> tuple[KeyLook, ...]:
        """Those that have published elsewhere since, and so do not change."""
        return self.of(Change.SINCE)

    @property
    def hidden(self) -> tuple[KeyLook, ...]:
        """Those of which nothing would show, because their interval is hidden."""
        return self.of(Change.HIDDEN)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets in which it changes something."""
        return tuple(sorted({each.dataset for each in self.keys}))

    @property
    def rows_before(self) -> int:
        """How many rows readers see of its partitions without it."""
        return sum(each.rows_before for each in self.keys)

    @property
    def rows_after(self) -> int:
        """How many with it."""
        return sum(each.rows_after for each in self.keys)

    @property
    def bytes_before(self) -> int:
        """How many bytes these take without it."""
        return sum(each.bytes_before for each in self.keys)

    @property
    def bytes_after(self) -> int:
        """How many with it."""
        return sum(each.bytes_after for each in self.keys)

    def contents(self, spark: Any) -> Contents:
        """Read the rows of each partition that changes on both sides, and compare them, in whatever order they are.

        :param spark: the session that reads them, classic or Connect.
        :raises OutputError: when something published is missing or was changed.
        :raises SettingsError: when this look was taken without what compares.
        """
        if self._compare is None:
            remedy = "Take it with airflow_coordination.spark.branch_look.look_at"
            raise SettingsError("compare", None, "was not given to this look", remedy)
        return self._compare(self._store, self, spark)


def look_at(
    coordinator: SourceCoordinator, number: int, dataset: str | None = None, *, compare: Compare | None = None
) -> BranchLook:
    """Return what a branch changes for readers: from head records alone, no file is read.

    Of a branch that has begun it is what its publication would change now, with everything else as it is; of one that
    shows, what it has changed, and what a roll back would change back. All head records of the source are read, in
    pages, under one version of the view.

    :param coordinator: of the source.
    :param number: the branch's.
    :param dataset: only this dataset.
    :param compare: reads and compares rows, when they are asked for.
    :raises InvalidInputError: when there is no such branch, or it was rolled back.
    :raises OutputError: when a head record is of a kind that this code does not read.
    :raises SettingsError: when the store comes from elsewhere and knows no branches.
    """
    if dataset is not None:
        check_key(dataset, "dataset", MAX_DATASET_BYTES)
    store, source = coordinator.store, identifier_of(coordinator)

    def read(view: View) -> BranchLook:
        with_it = as_if_published(view, number)
        branch = view.branch(number)
        assert branch is not None  # as_if_published has seen it
        partitions = {each.key: each for each in partitions_of(coordinator, number)}  # their endings come before heads
        without = view.changed(replace(branch, state=BranchState.BEGUN))
        looked = _Look(without, with_it, number, partitions)
        keys = tuple(each for each in looked.all(store, source) if dataset in (None, each.dataset))
        unfinished = [each.key for each in partitions.values() if each.status is not PartitionStatus.COMPLETED]
        return BranchLook(
            source=source,
            branch=branch,
            keys=keys,
            unfinished=tuple(sorted(unfinished)),
            silent=tuple(sorted(partitions.keys() - looked.published - set(unfinished))),
            _store=store,
            _compare=compare,
        )

    return steadily(store, source, read)


class _Look:
    """Judges the head records of one source.

    :param without: the view in which the branch does not show.
    :param with_it: the view in which it does.
    :param number: the branch's.
    :param partitions: that run in it, by key.
    """

    def __init__(self, without: View, with_it: View, number: int, partitions: Mapping[str, Partition]) -> None:
        self._without, self._with, self._number, self._partitions = without, with_it, number, partitions
        self.published: set[str] = set()
        """Keys of partitions that have published in the branch."""

    def all(self, store: PartitionStore, source: str) -> Iterator[KeyLook]:
        """Yield what the branch does to each partition that runs or has published in it, by key, then by dataset."""
        heads = chain.from_iterable(head_pages(store, source, None))
        for key, its in groupby(heads, key=lambda head: head.key):
            own = list(its)
            if any(branch_of(head) == self._number for head in own):
                self.published.add(key)
            if key in self.published or key in self._partitions:
                yield from self._of_key(key, own)

    def _of_key(self, key: str, heads: Sequence[HeadRecord]) -> Iterator[KeyLook]:
        for dataset, its in sorted(by_dataset(heads).items()):
            found = self._judged(key, dataset, its)
            if found is not None:
                yield found

    def _judged(self, key: str, dataset: str, heads: Sequence[HeadRecord]) -> KeyLook | None:
        """Return what the branch does to one partition in one dataset; ``None`` where there is nothing at all."""
        before, after = newest(self._without, heads), newest(self._with, heads)
        hidden = hiding(self._with, after) if after and after.blocks else None
        shown = _shown(self._without, before), _shown(self._with, after)
        change = self._change(key, heads, *shown, hidden)
        if change is None:
            return None
        status = self._partitions[key].status if key in self._partitions else None
        return KeyLook(
            key=key, dataset=dataset, change=change, status=status, before=shown[0], after=shown[1], hidden=hidden
        )

    def _change(
        self,
        key: str,
        heads: Iterable[HeadRecord],
        before: HeadRecord | None,
        after: HeadRecord | None,
        hidden: Hidden | None,
    ) -> Change | None:
        own = next((head for head in heads if branch_of(head) == self._number), None)
        if own is None:
            return self._left(key) if before else None
        if newest(self._with, heads) is not own:
            return Change.SINCE
        if hidden is not None:
            return Change.HIDDEN
        if before and after:
            return Change.CHANGED
        return Change.NEW if after else Change.GONE if before else None

    def _left(self, key: str) -> Change:
        """Return why a partition that runs in the branch has nothing there in the place of what it had."""
        done = self._partitions[key].status is PartitionStatus.COMPLETED if key in self._partitions else True
        return Change.MISSING if done else Change.UNFINISHED


def _shown(view: View, head: HeadRecord | None) -> HeadRecord | None:
    """Return a head record if readers see rows of it."""
    return head if head is not None and head.blocks and hiding(view, head) is None else None
