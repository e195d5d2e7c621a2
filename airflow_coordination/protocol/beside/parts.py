"""What a store may have beside leases: parts, each there or not; :func:`parts_of` is the only place that asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from airflow_coordination.protocol.beside.chunk_sums import ChunkSums, ChunkTotals
from airflow_coordination.protocol.beside.documents import BranchCounts, Document, Looked, SetDocument
from airflow_coordination.protocol.beside.ended_sums import EndedSums, EndedTenure
from airflow_coordination.protocol.beside.key_ranges import KeyRanges
from airflow_coordination.protocol.follow_up import FollowUp, Forget
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import FusedAnswer, Outlook, PauseAnswer
from airflow_coordination.protocol.writes import (
    AcquireNext,
    End,
    SetInterval,
    SetPause,
)
from airflow_coordination.values.accounting import AddedUp


class FusedSteps(Protocol):
    """Part of a store in which completing and acquiring the next partition can be one commit."""

    def complete_and_acquire(self, end: End, following: AcquireNext) -> FusedAnswer:
        """End one tenure and start the next in one commit; the second half only if the first applied just now."""


class Pauses(Protocol):
    """Part of a store in which people hold a whole source back, and which counts what fails in it (promises X12, X13).

    Acquisitions that begin after :meth:`set_pause` are refused while the source is paused; a store for which asking is
    dear asks at least every 30 s.
    """

    @property
    def pause_holds_after(self) -> timedelta:
        """How long after a pause was set the last process knows of it."""

    def set_pause(self, write: SetPause) -> PauseAnswer:
        """Pause or resume a source if nobody has since the person looked.

        Audited in the same step, under the key :data:`~.pause.OF_THE_SOURCE`.
        """

    def pause(self, source: str) -> Pause:
        """Return whether a source is paused, and who has said so.

        :attr:`~.pause.Pause.failing` says what has failed since the last ending that was a success, and since somebody
        has paused or resumed: each partition counts once, another error begins anew, an ending that was refused or
        comes twice counts nothing. It may count less than there was, for as long as :attr:`pause_holds_after` says, and
        never more. Pausing by it is the coordinator's.
        """

    def holds_back(self, source: str) -> bool:
        """Return whether acquisitions of a source are held back now: where asking is dear, as the store believes."""


class History(Protocol):
    """Part of a store that has a row of each tenure; without it a partition remembers its last eight endings."""

    def history(self, source: str, key: str | None = None, limit: int = 1000) -> Sequence[PastTenure]:
        """Return the newest tenures that have ended, the newest first, of one partition if it is named.

        A row is written by the step that ends its tenure, in the same commit where the engine can, and kept for as long
        as the store is configured to.
        """


class FollowUps(Protocol):
    """Part of a store that keeps what is to follow endings and parkings (promise S27)."""

    def follow_ups(self, source: str, key: str | None, after: FollowUp | None, limit: int) -> Sequence[FollowUp]:
        """Return notes of what follows endings and parkings, by key in byte order, then by token and operation.

        An ending that carries one (:attr:`~.writes.End.then`) writes it in its own commit. It outlives its partition.
        A parked partition for which something was said (:class:`~.writes.OnParked`) is a note itself
        (:func:`~.follow_up.of_parked`); one that was parked just now may be missing where an index is late (DynamoDB),
        unless its key is named.

        :param key: those of one partition only.
        :param after: those behind this one only.
        """

    def clear_follow_up(self, done: FollowUp) -> None:
        """Take a note away, named by source, key, token and operation; nothing happens if it is not there.

        That of a parked partition is taken out of it, while it is parked by that operation.
        """

    def forget_follow_up(self, write: Forget) -> None:
        """Take a note away that was not done, audited in the same step; nothing happens if it is not there."""


class HeadIntervals(Protocol):
    """Part of a store in which people say of which time published rows are."""

    def set_interval(self, write: SetInterval) -> bool:
        """Give a head record an interval if it is as the person saw it; audited in the same step.

        Nothing else of it changes, its time neither: no reader reads anything else. Repeated, it does nothing.

        :return: whether this very execution did it.
        """


class Documents(Protocol):
    """Part of a store that keeps documents of a source: the newest version counts, the others are its history."""

    def document(self, source: str, name: str) -> Document | None:
        """Return the newest version, read so that every acknowledged write is seen; ``None`` where there is none."""

    def look(self, source: str, name: str, branch: int | None = None) -> Looked:
        """Return what whoever changes a document needs to know, in one request where that can be had.

        :param branch: also how far this branch is.
        """

    def set_document(self, write: SetDocument) -> bool:
        """Write the next version if the newest one is the one seen; the time is the store's, of the write itself.

        Margins of a purge are counted from it (promise S23).

        :return: whether this operation has written that version, now or before: a repetition of it does nothing.
        """

    def document_history(self, source: str, name: str, before: int | None = None, limit: int = 100) -> list[Document]:
        """Return versions, the newest first.

        :param before: only those older than this version.
        """

    def documents(self, source: str, limit: int | None = None) -> list[Document]:
        """Return the newest version of each document of a source, by name in byte order.

        :param limit: of so many at most, and nothing is read of the others; ``None`` = of all.
        """

    def forget_versions(self, source: str, beginning: str, before: datetime) -> int:
        """Remove versions that no longer counted at a moment, and return how many; what counted then stays.

        So the newest version of a document always stays. Repeated, it does nothing. It may be stopped half way.

        :param beginning: of the names of the documents that are meant.
        :param before: the moment, by the store's clock; a version counts until the next one is written.
        """


class Branches(Protocol):
    """Part of a store that knows which partitions run in a branch, without reading all others.

    A store that has it lets no token begin anew of a partition that has head records of branches, whatever else it
    forgets: readers find the newest publication by its token (promise S22).
    """

    def branch_counts(self, source: str, branch: int) -> BranchCounts:
        """Return how far the partitions of a branch are, tombstones left out."""

    def branch_partitions(self, source: str, branch: int, after: str | None, limit: int) -> Sequence[Partition]:
        """Return up to ``limit`` partitions that run in a branch, by key in byte order, tombstones left out.

        :param after: only those with a key above it.
        """


class Sums(Protocol):
    """Part of a store that adds up by itself; elsewhere every partition is read."""

    def accounting(self, source: str) -> AddedUp:
        """Return what became of the records of all partitions together, tombstones left out."""


class Ranges(Protocol):
    """Part of a store that looks around in its keys from its indexes, for people; nothing is decided by it."""

    def key_ranges(self, source: str, number: int) -> KeyRanges:
        """Return how many partitions of what are where in the keys.

        :param number: of ranges, at least 1; there are fewer of a source with fewer partitions.
        """

    def parked_before(self, source: str, key: str) -> str | None:
        """Return the key of the last parked partition below ``key`` in byte order, ``None`` where there is none."""


class Glances(Protocol):
    """Part of a store that reads a whole source to be sure that nothing in it moves: people are content with less."""

    def glance(self, source: str) -> Outlook:
        """Return what an index shows of what can still happen, perhaps a moment late, from 2,000 rows or so.

        Nothing is decided by it; who decides asks for :meth:`PartitionStore.outlook`.
        """


class Enabling(Protocol):
    """Part of a store that keeps out code that knows no overlays, once a person has said so (promise S16).

    Such code reads originals, so none may go before. Nothing takes it back: originals may be gone then.
    """

    def outputs_enabled(self) -> bool:
        """Return whether only code that looks through overlays may open this store; asked anew each time."""

    def enable_outputs(self) -> None:
        """Let only such code open it from now on. Idempotent."""

    def branches_enabled(self) -> bool:
        """Return whether only code that knows branches and hidden intervals may open it; asked anew each time."""

    def enable_branches(self) -> None:
        """Let only code that knows branches and hidden intervals open it from now on; it knows overlays, too.

        Idempotent, and never taken back: code of before would show what is hidden, and publish a branch into the base.
        """


class Chunks(Protocol):
    """Part of a store that keeps sums of the chunks of datasets, for people to look at; nothing is decided by them.

    So nothing is fenced here, and the last writer wins: there is one planner at a time, by its lease, and what another
    one that has lost it writes late is right again after the next plan.
    """

    def put_chunks(self, source: str, rows: Sequence[ChunkSums]) -> None:
        """Write sums over those that are there of the same dataset and chunk; the time is the store's.

        Repeated, it does the same. Many rows are several commits, which other calls may see in between.
        """

    def chunks(
        self, source: str, dataset: str | None = None, after: tuple[str, str] | None = None, limit: int = 1000
    ) -> Sequence[ChunkSums]:
        """Return sums by dataset in byte order, then the newest chunk first.

        :param dataset: of this one only.
        :param after: only those behind this dataset and :attr:`~.beside.chunk_sums.ChunkSums.place`.
        """

    def chunk_totals(self, source: str, dataset: str | None = None) -> Sequence[ChunkTotals]:
        """Return what they add up to, by dataset in byte order, then by state.

        Where reading is dear (DynamoDB), of the newest chunks of each dataset, and at most 1,500 in all: that is said
        by :attr:`~.beside.chunk_sums.ChunkTotals.whole`.

        :param dataset: of this one only.
        """

    def forget_chunks(self, source: str, dataset: str) -> None:
        """Remove all sums of a dataset; repeated, it does nothing."""


class Ended(Protocol):
    """Part of a store that keeps sums of what ended in each five minutes; it has a history, too."""

    def ended_between(self, source: str, since: datetime, until: datetime, limit: int) -> Sequence[EndedTenure]:
        """Return the first ``limit`` endings of the history from a time up to another one, the oldest first.

        :param since: itself included.
        :param until: itself excluded. What has ended just now may be missing: :data:`~.beside.ended_sums.LATE`.
        """

    def ended_sums(self, source: str, limit: int) -> Sequence[EndedSums]:
        """Return the newest ``limit`` rows, the newest first."""

    def put_ended_sums(self, source: str, row: EndedSums, seen: datetime | None) -> bool:
        """Write a row if nobody else has since it was read.

        :param seen: up to when the row that is there is counted; ``None`` where there is none.
        :return: whether it was written.
        """

    def forget_ended_sums(self, source: str, before: datetime) -> None:
        """Remove the rows that begin before a time; repeated, it does nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreParts:
    """What a store has beside leases; ``None`` where it has not.

    :param fused: completing and acquiring in one commit.
    :param pauses: holding sources back.
    :param history: a row of each tenure.
    :param follow_ups: notes of what follows endings and parkings.
    :param sums: the accounting of a source in one request.
    :param ranges: counts by ranges of keys.
    :param glances: a look that costs little, where to be sure is dear.
    :param head_intervals: people say of which time rows are.
    :param enabling: keeping out code that knows no overlays.
    :param chunks: sums of the chunks of datasets.
    :param documents: texts with versions, the view among them.
    :param branches: which partitions run in a branch.
    :param ended: sums of what ended in each five minutes.
    """

    fused: FusedSteps | None = None
    pauses: Pauses | None = None
    history: History | None = None
    follow_ups: FollowUps | None = None
    sums: Sums | None = None
    ranges: Ranges | None = None
    glances: Glances | None = None
    head_intervals: HeadIntervals | None = None
    enabling: Enabling | None = None
    chunks: Chunks | None = None
    documents: Documents | None = None
    branches: Branches | None = None
    ended: Ended | None = None


def parts_of(store: PartitionStore) -> StoreParts:
    """Return the parts that a store says it has; one from elsewhere may know of none."""
    said: Callable[[], StoreParts] | None = getattr(store, "parts", None)
    return StoreParts() if said is None else said()


def glance(store: PartitionStore, source: str) -> Outlook:
    """Return what can still happen in it, perhaps a moment late where to be sure is dear. Decide nothing by it."""
    glances = parts_of(store).glances
    return store.outlook(source) if glances is None else glances.glance(source)


def originals_may_go(store: PartitionStore) -> bool:
    """Return whether code that knows no overlays is kept out, so that what they cover may be deleted at any moment."""
    enabling = parts_of(store).enabling
    return enabling is not None and enabling.outputs_enabled()
