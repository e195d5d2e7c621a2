"""The port between the protocol and its stores. It belongs to its user, so it lives here, back ends in ``stores``.

Leases need :class:`PartitionStore`, which every store is. What a store may have beside it are parts, each of them there
or not; :func:`parts_of` is the only place that asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from airflow_coordination.protocol.beside.chunk_sums import ChunkSums, ChunkTotals
from airflow_coordination.protocol.beside.documents import BranchCounts, Document, Looked, SetDocument
from airflow_coordination.protocol.beside.ended_sums import EndedSums, EndedTenure
from airflow_coordination.protocol.beside.key_ranges import KeyRanges
from airflow_coordination.protocol.follow_up import FollowUp, Forget
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.results import Answer, Created, FusedAnswer, HeadRecord, Outlook, PauseAnswer, Swept
from airflow_coordination.protocol.writes import (
    AcquireNext,
    Act,
    Create,
    End,
    FencedWrite,
    KnownAcquisition,
    Place,
    SetInterval,
    SetPause,
    Sweep,
)
from airflow_coordination.values.accounting import AddedUp
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Span

AUDITED: Final = 1_000
"""The most actions on a source that are returned at once, the newest."""


class PartitionStore(Protocol):
    """A store executes conditional steps. It has no policy and never repeats a step by itself.

    Each method is one step. It returns the engine's answer, or raises:

    * :class:`~.errors.StoreUnavailableError` when the step surely did not reach the engine or was surely not applied,
    * :class:`~.errors.OutcomeUnknownError` when it may have been applied, now or later,
    * :class:`~.errors.PartitionUpdateError` when the engine answered that it cannot (disk full, value too large),
    * :class:`~.errors.SchemaVersionError` when the store was made by other code (checked once, on first use).

    Every back-end exception is the ``__cause__`` of one of these. All this holds for the parts of a store, too: which
    it has, it says by a method ``parts()``, which returns :class:`StoreParts`; without that method it has none.
    """

    partition_prefix: str | None
    """What its configuration calls so: the default of everything that is made on it; steps get whole identifiers."""

    @property
    def store_id(self) -> str:
        """The id this store was given when it was set up (promise S18)."""

    @property
    def description(self) -> str:
        """The store's address without credentials, for people."""

    @property
    def reference(self) -> str | None:
        """A URL without credentials for :func:`~airflow_coordination.stores.open_store`; ``None`` if there is none."""

    @property
    def create_page(self) -> int:
        """How many partitions one :meth:`create` gets at most, so that it is done within a request's deadline."""

    def setup(self) -> None:
        """Create the schema or migrate it to this code's version. Idempotent."""

    def close(self) -> None:
        """Give connections back."""

    def now(self) -> datetime:
        """Return the clock that decides when leases end: the server's where it has one."""

    def register(self, source: str, facts: dict[str, Any]) -> None:
        """Record or refresh a source and what is known of it (dag ids, settings)."""

    def sources(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """Return the registered sources with their facts, by name."""

    def create(self, write: Create) -> Created:
        """Create what is absent; see :class:`~.writes.Create`. Repeated, it does nothing and counts the same.

        What is absent waits for those of its parents that are not COMPLETED in this very step, and stamps them with its
        operation. The step that completes a stamped partition releases everyone who waits for it.

        :raises UnknownParentError: when a parent of what is absent does not exist; then nothing is created.
        """

    def acquire_next(self, write: AcquireNext) -> Partition | None:
        """Acquire the first claimable partition; ``None`` when there is none."""

    def acquire(self, write: KnownAcquisition) -> Answer:
        """Acquire one known partition."""

    def write(self, write: FencedWrite) -> Answer:
        """Apply an owner's write under its fence."""

    def sweep(self, write: Sweep) -> Swept:
        """Reopen and reclaim what is due."""

    def act(self, write: Act) -> Answer:
        """Carry out a person's action, audited in the same step, in which a retract empties the head records, too."""

    def place(self, write: Place) -> Answer:
        """Give a partition that was just created the life that it had in another store, with its head records."""

    def refresh(self, write: Refresh) -> Answer:
        """Give a partition that was reset, and that nobody has held since, another payload; the answer shows it.

        :meth:`create` finds them: :attr:`~.results.Created.outdated`.
        """

    def get(self, source: str, key: str) -> Partition | None:
        """Return one partition, tombstones included, read so that every acknowledged write is seen."""

    def find_nonce(self, source: str, nonce: str) -> Partition | None:
        """Return the ASSIGNED partition whose fence has this nonce."""

    def find_task(self, source: str, task: str) -> Sequence[Partition]:
        """Return the ASSIGNED partitions held by any try of this task identity, whichever Airflow it is of."""

    def page(
        self,
        source: str,
        status: PartitionStatus | None,
        after: str | None,
        limit: int,
        *,
        parked: bool | None = None,
    ) -> Sequence[Partition]:
        """Return up to ``limit`` partitions with a key above ``after`` in byte order, tombstones left out.

        Each is so when it is read. By status, what has come into it in this moment may be missing where an index is
        late (DynamoDB).

        :param parked: only those that are parked (the status is CLOSED then), or only those that are not.
        """

    def children(self, source: str, parent: str, after: str | None, limit: int) -> Sequence[Partition]:
        """Return up to ``limit`` partitions that name ``parent`` among their parents, by key in byte order.

        Whether they still wait for it, they say themselves.

        :param after: only keys above this one.
        """

    def claimable(self, source: str, limit: int) -> Sequence[tuple[str, int]]:
        """Return key and token of what can be acquired now, in the acquisition order."""

    def counts(self, source: str) -> dict[PartitionStatus, int]:
        """Return how many partitions are in each status, all four named."""

    def outlook(self, source: str) -> Outlook:
        """Return what can still happen in the source."""

    def heads(
        self,
        source: str,
        dataset: str | None = None,
        key: str | None = None,
        after: str | None = None,
        limit: int = 1000,
        after_dataset: str | None = None,
        *,
        within: Span | None = None,
    ) -> Sequence[HeadRecord]:
        """Return head records by key in byte order, then by dataset, of one dataset or one key if named.

        Fewer than ``limit`` are the last ones: :func:`~.heads.every_head` goes through all.

        :param after: only those with a key above it.
        :param after_dataset: also those of the key ``after`` itself whose dataset is above this one.
        :param within: only those with a moment in common with it, and those that have no interval.
        """

    def audit(
        self, source: str, key: str | None, limit: int = AUDITED, before: str | None = None
    ) -> Sequence[dict[str, Any]]:
        """Return the people's actions on a partition, oldest first.

        Of those of a source each has a ``place``, too: a text that says nothing but where the page before it ends.

        :param key: ``None`` for those on all partitions and the source itself, the newest at most, of which no more are
            read than are returned.
        :param limit: so many of the newest of a source, :data:`AUDITED` at most; of a partition all are returned. It is
            given to those stores only that have it.
        :param before: of a source only those before the one at this place; given to those stores only that have it.
        :raises InvalidInputError: when ``before`` is no place.
        """


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

    def documents(self, source: str) -> list[Document]:
        """Return the newest version of each document of a source, by name in byte order."""

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
