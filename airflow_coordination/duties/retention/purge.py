"""The purge: what was hidden long ago is deleted for good, and what nobody can ever see again (promise S23).

Intervals are *marked* first, by one change of the view, and no way leads back from there: so whoever purges late, or
beside somebody else, deletes nothing that was restored. Then head records are emptied, each by a retract of its
partition as it was seen, narrowed to them. The order of reads makes that safe: the partition, then its head records,
then the view. A head record that is to go keeps its interval in the view. So if it is still there when the view is
read, and the partition has not changed when the retract comes, readers have not seen it in between.

Margins are counted from when the store has written what hides something. Who hides an interval, or rolls a branch back,
reads the store's clock, and writes then. In between a process may be stopped for longer than any margin: what it writes
at last says that it was so all the time, while readers saw it until now. So margins are not counted from what a view
says of itself. The versions of its document bear the time at which the store has written them, and only what one of
before the margin said counts as old.

Files are left to the collector, whose own margin lets readers finish who have begun before.

Source: Druid, ``KillUnusedSegments``: off by default, two margins, the oldest first, a list of what may be deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from heapq import nsmallest
from itertools import islice
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.heads.pages import head_pages, read_aside, with_aside
from airflow_coordination.planning.periods import FIRST
from airflow_coordination.planning.unused.deleting import Margins, Unused, deletable
from airflow_coordination.planning.unused.emptying import Unseen, is_purged, last_change, lies_in, may_show, unseen
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.showing import branch_of, by_dataset, dataset_of
from airflow_coordination.planning.view.view import EMPTY, Branch, BranchState, Hidden, View
from airflow_coordination.protocol.beside.documents import VIEW
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import UPKEEP, check_key, check_said, identifier_of
from airflow_coordination.values.status import PartitionStatus

PURGE: Final = "purge"
"""Who empties head records, in the audit."""
BATCH: Final = 100
"""Partitions between two looks at the view."""
_LOOKED_AT: Final = 10_000
"""Head records that a run looks at, at least: so many partitions that are held do not keep the others from going."""

_OVER: Final = (BranchState.FINAL, BranchState.ROLLED_BACK)
"""Branches in these states make head records that nobody will ever see."""
HELD, STAGED, GONE, CHANGED = "held", "staged", "gone", "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToPurge:
    """What a purge would do now.

    :param marks: hidden intervals that it would mark: from there on nobody can restore them.
    :param heads: the head records that it would empty, the oldest first.
    :param skipped: how many partitions it would leave for now, by what is in the way.
    """

    marks: tuple[Hidden, ...] = ()
    heads: tuple[Unseen, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What a purge has done.

    :param marked: how many hidden intervals it has marked.
    :param emptied: how many head records name nothing any more.
    :param skipped: how many partitions were left for the next run, by what was in the way: *held* by an owner,
        *staged* blocks that wait to be published, *gone*: the partition was deleted and has only its output left,
        *changed* while it was looked at.
    :param removed: how many intervals are not hidden any more, because nothing is left of them.
    :param forgotten: how many branches that were rolled back the view has forgotten, because nothing is left of them.
    """

    marked: int = 0
    emptied: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    removed: int = 0
    forgotten: int = 0


def to_purge(coordinator: SourceCoordinator, margins: Margins) -> ToPurge:
    """Return what :func:`purge` would do now, and change nothing.

    :param margins: as there.
    """
    return _Run(coordinator, margins).plan()


def purge(
    coordinator: SourceCoordinator,
    margins: Margins,
    *,
    by: str,
    why: str,
    allowed: Callable[[], Collection[str]] | None = None,
) -> Purged:
    """Empty head records that nobody will ever see again, the oldest first, after marking what hides them.

    :param coordinator: of the source.
    :param margins: what is old enough, by the store's clock, the most head records that are emptied in this run, and
        the datasets of which anything is: there must be some. Heads that a branch hides, or of one that was rolled
        back, need no interval: ``duration_to_retain`` is of no matter to them.
    :param by: who asks for it, kept in the history of the view and, beside who has hidden it, in each audit.
    :param why: the reason.
    :param allowed: tells of which datasets anything may go still. It is asked before the mark and before each retract,
        because neither can be taken back (promise S25). All that ``margins`` names where it is left out.
    :raises InvalidInputError: when no dataset is named, nobody or no reason is, or it is a source of upkeep.
    """
    check_said(by, why)
    run = _Run(coordinator, margins, allowed)
    planned = run.plan()
    run.skipped.clear()
    marked = run.mark(planned.marks, by, why)
    emptied = sum(run.empty(batch, f"asked for by {by}: {why}") for batch in _batches(planned.heads))
    skipped = Counter(planned.skipped) + run.skipped
    removed, forgotten = run.tidy_up(by, why)
    return Purged(marked=marked, emptied=emptied, skipped=dict(skipped), removed=removed, forgotten=forgotten)


class _Run:
    """One run: the time is taken first, then the view is read, then everything else."""

    def __init__(
        self,
        coordinator: SourceCoordinator,
        margins: Margins,
        allowed: Callable[[], Collection[str]] | None = None,
    ) -> None:
        if not margins.datasets:
            problem = "names none, and nothing is deleted that was not named"
            raise InvalidInputError("datasets", margins.datasets, problem, "Name the datasets of which anything may go")
        if coordinator.source.startswith(UPKEEP):
            problem = "is of upkeep, of which nothing is hidden"
            raise InvalidInputError("source", coordinator.source, problem, "Name the source that its partitions are of")
        self._datasets = sorted({check_key(name, "dataset", MAX_DATASET_BYTES) for name in margins.datasets})
        self._allowed = allowed or (lambda: self._datasets)
        self._coordinator, self._store, self._margins = coordinator, coordinator.store, margins
        self._source = identifier_of(coordinator)
        self._now = coordinator.store.now()
        self.upto: Final = margins.buffer.before(self._now)
        view = coordinator.documents.view()
        self._then = view_at(coordinator, self.upto) if _has_old(view, self.upto) else EMPTY
        self.view = self._surely(view)
        self.skipped: Counter[str] = Counter()

    def _surely(self, view: View) -> View:
        """Return a view in which nothing is older than the store knows of it."""
        return surely(view, self._then, self._now)

    def plan(self) -> ToPurge:
        """Return the oldest head records that may go and that a retract fits, and the intervals to mark for them."""
        due, filled = self._due()
        after = changing.purging(self.view, due, self.upto, self._then.shown)
        heads: list[Unseen] = []
        for batch in _batches(self._candidates(after)):
            ready = {partition.key for partition in self._ready(batch)}
            heads += [each for each in batch if each.head.key in ready]
            if len(heads) >= self._margins.most:
                break
        heads = heads[: self._margins.most]
        reached = [each.because for each in heads]
        marked = dict(zip(self.view.hidden, after.hidden, strict=True))
        # One with nothing in it stays: what is published there later is hidden, as was said.
        marks = tuple(each for each in due if each in filled and marked[each] in reached)
        return ToPurge(marks=marks, heads=tuple(heads), skipped=dict(self.skipped))

    def _due(self) -> tuple[list[Hidden], set[Hidden]]:
        """Return the hidden intervals that may be marked, and those of all that have something left.

        They have been hidden for long, and nothing has come into them since.
        """
        old = [each for each in self.view.hidden if not each.purging and self._is_due(each, each.since)]
        changed = {each: each.since for each in old}
        filled: set[Hidden] = set()
        for heads in self._rows(self.view, old) if old else ():
            for head in heads:
                for each in old:
                    if head.blocks and may_show(self.view, head) and lies_in(each, head):
                        changed[each] = max(changed[each], last_change(self.view, each, head))
                        filled.add(each)
        return [each for each in old if self._is_due(each, changed[each])], filled

    def _is_due(self, entry: Hidden, changed: datetime) -> bool:
        return bool(deletable([Unused(entry.dataset, entry.since, entry.interval, changed)], self._margins, self._now))

    def mark(self, marks: Sequence[Hidden], by: str, why: str) -> int:
        """Mark intervals as purging where they are still as they were seen, and may go; return how many were."""
        marked = 0

        def change(view: View) -> View:
            nonlocal marked
            may = self._allowed()
            going = [each for each in marks if each.dataset in may]
            marked = sum(each in going for each in view.hidden)
            return changing.purging(view, going, self.upto, self._then.shown)

        if marks:
            self._coordinator.documents.change_view(change, by, why)
        return marked

    def _candidates(self, view: View) -> list[Unseen]:
        """Return the head records that may be emptied, the oldest first, what lies in hidden intervals before others.

        They are only looked for here, in pages; each is judged again when its partition was read.
        """
        purging = [each for each in view.hidden if each.purging and each.dataset in self._datasets]
        if not purging and not any(each.state in _OVER and each.changed_at <= self.upto for each in view.branches):
            return []
        found = (each for heads in self._rows(view, purging) for each in self._judged(view, heads))
        return nsmallest(max(_LOOKED_AT, 10 * self._margins.most), found, key=_order)

    def _judged(self, view: View, heads: Iterable[HeadRecord]) -> Iterator[Unseen]:
        for each in unseen(view, heads):
            if isinstance(each.because, Hidden) or each.since <= self.upto:
                yield each

    def _rows(self, view: View, entries: Sequence[Hidden]) -> Iterator[Sequence[HeadRecord]]:
        """Yield the head records of each partition and dataset that has any there: of all, where there are branches."""
        branches = [each.number for each in view.branches if not each.begun]
        for dataset in self._datasets:
            if branches:
                aside = read_aside(self._store, self._source, dataset, branches)
                pages = head_pages(self._store, self._source, dataset)
                yield from (heads for rows in with_aside(pages, aside) for heads in rows)
                continue
            seen: set[str] = set()
            for interval in [each.interval for each in entries if each.dataset == dataset]:
                for page in head_pages(self._store, self._source, dataset, interval):
                    yield from ([head] for head in page if head.key not in seen)
                    seen |= {head.key for head in page} if len(entries) > 1 else set()

    def _ready(self, batch: Iterable[Unseen]) -> Iterator[Partition]:
        """Yield the partitions of head records, as they are now, that a retract fits; the others are counted."""
        for key in dict.fromkeys(each.head.key for each in batch):
            partition = self._store.get(self._source, key)
            obstacle = _obstacle(partition)
            if partition is None or obstacle is not None:
                self.skipped[obstacle or GONE] += 1
            else:
                yield partition

    def empty(self, batch: Sequence[Unseen], why: str) -> int:
        """Empty head records, each judged once more by what is read now; return how many were."""
        wanted = {(each.head.key, each.head.dataset) for each in batch}
        read = [(partition, self._heads(partition.key)) for partition in self._ready(batch)]
        view = self._surely(self._coordinator.documents.view())
        emptied = 0
        for partition, heads in read:
            found = [each for row in heads for each in self._judged(view, row)]
            going = [each for each in found if (partition.key, each.head.dataset) in wanted]
            emptied += self._retract(partition, going, why)
        return emptied

    def _retract(self, partition: Partition, going: Sequence[Unseen], why: str) -> int:
        may = self._allowed() if going else ()
        going = [each for each in going if dataset_of(each.head) in may]
        if not going:
            return 0
        said = "; ".join(dict.fromkeys([*(each.why for each in going), why]))
        try:
            self._coordinator.people.purge(partition, {each.head.dataset for each in going}, PURGE, said)
        except PartitionUpdateError:
            self.skipped[CHANGED] += 1
            return 0
        return len(going)

    def _heads(self, key: str) -> list[list[HeadRecord]]:
        """Return the head records of a partition by dataset, in whatever branches."""
        rows = by_dataset(every_head(self._store, self._source, key=key))
        return [heads for dataset, heads in rows.items() if dataset in self._datasets]

    def tidy_up(self, by: str, why: str) -> tuple[int, int]:
        """Take out of the view what nothing is left of; return how many intervals, and how many branches."""
        view = self._surely(self._coordinator.documents.view())
        gone = self._gone(view)
        branches = self._left_nothing(view)
        if not gone and not branches:
            return 0, 0

        def change(view: View) -> View:
            view = changing.purged(view, gone)
            for number in branches:
                view = changing.forgotten(view, number) if view.branch(number) else view
            return view

        self._coordinator.documents.change_view(change, by, f"nothing is left; {why}")
        return len(gone), len(branches)

    def _gone(self, view: View) -> list[Hidden]:
        left = [each for each in view.hidden if each.purging and each.dataset in self._datasets]
        for heads in self._rows(view, left) if left else ():
            for head in heads:
                if head.blocks:
                    left = [each for each in left if not is_purged(view, each, head)]
        return left

    def _left_nothing(self, view: View) -> list[int]:
        """Return the branches that were rolled back long ago, with nothing that runs or has output in them."""
        found = {each.number for each in view.branches if self._runs_nowhere(each)}
        for page in head_pages(self._store, self._source, None) if found else ():
            found -= {branch_of(head) for head in page if head.blocks}
        return sorted(found)

    def _runs_nowhere(self, branch: Branch) -> bool:
        """Return whether a branch was rolled back long ago, and none of its partitions can still end in it."""
        counting = parts_of(self._store).branches
        if branch.state is not BranchState.ROLLED_BACK or branch.changed_at > self.upto:
            return False
        counts = counting.branch_counts(self._source, branch.number) if counting else None
        return counts is not None and counts.completed >= counts.partitions


_PAGE: Final = 20


def view_at(coordinator: SourceCoordinator, moment: datetime) -> View:
    """Return the view as it was at a moment, by the store's clock; an empty one where that cannot be read.

    :param moment: versions that were written later are passed over, the newest first.
    """
    before = None
    while page := coordinator.documents.history(VIEW, before, _PAGE):
        for version in page:
            if version.at <= moment:
                with suppress(InvalidInputError):  # somebody has mended it since, and what it said is not known
                    return View.said_by(version)
                return EMPTY
        before = page[-1].version
    return EMPTY


def surely(view: View, then: View, now: datetime) -> View:
    """Return a view that counts as new what it did not say already at an earlier time.

    What is being purged stays as it is: its mark says what goes.

    :param then: the view as it was at that time.
    :param now: when what is new is said to have begun.
    """

    def branch(each: Branch) -> Branch:
        before = then.branch(each.number)
        same = before is not None and before.state is each.state
        return each if same else replace(each, changed_at=now)

    def hidden(each: Hidden) -> Hidden:
        return each if each.purging or each in then.hidden else replace(each, since=now)

    return replace(
        view, branches=tuple(branch(each) for each in view.branches), hidden=tuple(hidden(each) for each in view.hidden)
    )


def _has_old(view: View, upto: datetime) -> bool:
    """Return whether a view says of anything that margins may be over: then it is looked up whether that is so."""
    hidden = any(not each.purging and each.since <= upto for each in view.hidden)
    return hidden or any(each.state in _OVER and each.changed_at <= upto for each in view.branches)


def _obstacle(partition: Partition | None) -> str | None:
    """Return what keeps a retract from a partition for now."""
    if partition is None or partition.deleted:
        return GONE
    if partition.status is PartitionStatus.ASSIGNED:
        return HELD
    return STAGED if partition.staged else None


def _order(each: Unseen) -> tuple[bool, datetime, str, str]:
    in_interval = isinstance(each.because, Hidden)
    moment = each.head.interval_start if in_interval else each.since
    return not in_interval, moment or FIRST, each.head.key, each.head.dataset


def _batches(row: Iterable[Unseen]) -> Iterator[list[Unseen]]:
    left = iter(row)
    while batch := list(islice(left, BATCH)):
        yield batch
