"""Looking at a source: what needs no lease, and changes nothing but the sums that are kept for who looks."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from airflow_coordination.leases.participant import Participant
from airflow_coordination.leases.viewing.ended import EndedBook
from airflow_coordination.protocol.beside.chunk_sums import ChunkSums, ChunkTotals
from airflow_coordination.protocol.beside.parts import Chunks, StoreParts, glance
from airflow_coordination.protocol.metrics import gauged
from airflow_coordination.protocol.pages import Keys, page_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure, with_ring
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.values.accounting import AddedUp, of_partitions
from airflow_coordination.values.hints import encode_hint
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import check_key, check_limit, confusion, namesakes, split_source
from airflow_coordination.values.status import PartitionStatus

if TYPE_CHECKING:
    from airflow_coordination.leases.explaining.explanation import Explanation

NAMED_SOURCES: Final = 10


@dataclass(eq=False, repr=False)
class Looking:
    """What can be seen of a source without a lease: :class:`SourceCoordinator` ``.looking``.

    :param core: whose source.
    :param has: what of its store is beside leases: the rows of ended tenures, and sums.
    """

    _core: Participant
    _has: StoreParts

    @cached_property
    def chunks(self) -> ChunkBook:
        """Sums of the chunks of the source's datasets."""
        return ChunkBook(self._core, self._has.chunks)

    @cached_property
    def ended(self) -> EndedBook:
        """Sums of what ended."""
        return EndedBook(self._core, self._has.ended)

    def claimable(self, limit: int = 100) -> list[str]:
        """Return hints for what can be acquired now, in the acquisition order."""
        check_limit(limit)
        found = self._core.settler.repeat("list hints", lambda: self._core.store.claimable(self._core.source_id, limit))
        return [encode_hint(self._core.store.store_id, key, token) for key, token in found]

    def partition(self, key: str) -> Partition | None:
        """Return one partition, ``None`` if there is none."""
        check_key(key)
        found = self._core.settler.read(self._core.source_id, key)
        return None if found is None or found.deleted else found

    def has_children(self, key: str) -> bool:
        """Return whether any partition names this one among its parents; it need not be there itself."""
        check_key(key)
        read = partial(self._core.store.children, self._core.source_id, key, None, 1)
        return bool(self._core.settler.repeat("look for children", read))

    def history(self, key: str, limit: int = 1000) -> list[PastTenure]:
        """Return who has held a partition; see :meth:`SourceCoordinator.history`."""
        check_limit(limit)
        stored = self._stored(check_key(key), limit)
        return with_ring(stored, self._core.settler.read(self._core.source_id, key))[-limit:]

    def actions(self, key: str | None = None) -> Sequence[dict[str, Any]]:
        """Return what people did to a partition, oldest first, each as ``key``, ``at``, ``action``, ``by``, ``why``.

        :param key: ``None`` for all partitions, and the source itself under an empty key: the newest 1,000.
        """
        if key is not None:
            check_key(key)
        return self._core.settler.repeat("read the audit", lambda: self._core.store.audit(self._core.source_id, key))

    def accounting(self, key: str | None = None) -> AddedUp:
        """Return what became of the records, added up; see :meth:`SourceCoordinator.accounting`."""
        if key is not None:
            found = self.partition(key)
            return of_partitions(() if found is None else [found])
        if self._has.sums is None:
            return of_partitions(self.each())
        return self._core.settler.repeat(
            "add up the accounting", partial(self._has.sums.accounting, self._core.source_id)
        )

    def each(self, at_once: int = 1000) -> Iterator[Partition]:
        """Yield all partitions, so many from one request."""
        after: str | None = None
        while page := self.partitions(after=after, limit=at_once):
            yield from page
            after = page[-1].key

    def past_tenures(self, limit: int = 1000) -> Sequence[PastTenure]:
        """Return the tenures of this source that ended last, the newest first.

        :param limit: so many of them.
        """
        return self._stored(None, check_limit(limit))

    def _stored(self, key: str | None, limit: int) -> Sequence[PastTenure]:
        if self._has.history is None:
            return ()
        read = partial(self._has.history.history, self._core.source_id, key, limit)
        return self._core.settler.repeat("read the history", read)

    def partitions(
        self,
        status: PartitionStatus | None = None,
        after: str | None = None,
        limit: int = 1000,
        *,
        parked: bool | None = None,
        prefix: str | None = None,
        first: str | None = None,
        last: str | None = None,
    ) -> Sequence[Partition]:
        """Return a page of partitions; see :meth:`SourceCoordinator.partitions`."""
        check_limit(limit)
        keys = Keys(prefix, first, last)
        return self._core.settler.repeat(
            "list partitions",
            lambda: page_of(self._core.store, self._core.source_id, status, after, limit, parked=parked, keys=keys),
        )

    def explain(self, key: str) -> Explanation:
        """Return why a partition is not moving; see :meth:`SourceCoordinator.explain`."""
        from airflow_coordination.leases.explaining.facts import Inquiry  # every task imports this file, few ask why
        from airflow_coordination.leases.explaining.reasons import explain

        inquiry = Inquiry(self._core.store, self._core.source_id, self._core.settings, self._core.settler.repeat)
        return explain(*inquiry.about(check_key(key)))

    def counts(self) -> dict[PartitionStatus, int]:
        """Return how many partitions are in each status."""
        return self._core.settler.repeat("count partitions", lambda: self._core.store.counts(self._core.source_id))

    def check_known(self) -> None:
        """Refuse a source that this store has never seen; every source is registered when it is first created in.

        :raises SettingsError: naming the nearest source that the store knows, or the one under another prefix.
        """
        registered = self._check_prefix()
        if self._core.source_id in registered:
            return
        known = sorted({split_source(name)[1] for name in registered})
        near = difflib.get_close_matches(self._core.source, known, n=1, cutoff=0.5)
        remedy = f"Did you mean {near[0]!a}?" if near else f"It knows {known[:NAMED_SOURCES]!a}."
        where = f"is unknown to store {self._core.store.description}"
        raise SettingsError(
            "source", self._core.source, where, f"{remedy} Create its partitions first, or name another store"
        )

    def check_prefix(self) -> None:
        """Refuse a source that this store has never seen if it knows one of the same name under another prefix.

        :raises SettingsError: naming both.
        """
        self._check_prefix()

    def _check_prefix(self) -> list[str]:
        """Return the registered sources, unless this one was mistaken for another."""
        registered = [name for name, _ in self._core.settler.repeat("list the sources", self._core.store.sources)]
        for other in namesakes(self._core.source_id, registered):
            raise confusion(self._core.source_id, other, self._core.store.description)
        return registered

    def outlook(self) -> Outlook:
        """Return what can still happen in this source, and set the gauges to it."""
        return self._gauged(self._core.store.outlook)

    def glance(self) -> Outlook:
        """Return the same, perhaps a moment late where to be sure that nothing moves is dear: decide nothing by it."""
        return self._gauged(partial(glance, self._core.store))

    def _gauged(self, look: Callable[[str], Outlook]) -> Outlook:
        found = self._core.settler.repeat("look ahead", lambda: look(self._core.source_id))
        for gauge, value in gauged(found).items():
            self._core.gauge(gauge, value)
        return found


@dataclass(eq=False, repr=False)
class ChunkBook:
    """Sums of the chunks of the source's datasets, for people: :class:`SourceCoordinator` ``.looking.chunks``.

    The planner of compaction writes them. Nothing is decided by them.

    :param core: whose source.
    :param kept: where they are, ``None`` where the store keeps none: then there are none, and writing does nothing.
    """

    _core: Participant
    _kept: Chunks | None

    @property
    def are_kept(self) -> bool:
        """Whether the store keeps them at all."""
        return self._kept is not None

    def put(self, rows: Sequence[ChunkSums]) -> None:
        """Write sums over those of the same dataset and chunk.

        :raises OutcomeUnknownError: when it is not known whether they were written; writing them again is right.
        """
        if self._kept is not None and rows:
            write = partial(self._kept.put_chunks, self._core.source_id, rows)
            self._core.settler.repeat("write sums of chunks", write)

    def page(
        self, dataset: str | None = None, after: tuple[str, str] | None = None, limit: int = 1000
    ) -> Sequence[ChunkSums]:
        """Return sums by dataset, then the newest chunk first.

        :param dataset: of this one only.
        :param after: only those behind this dataset and :attr:`~.beside.chunk_sums.ChunkSums.place`.
        """
        check_limit(limit)
        if self._kept is None:
            return ()
        read = partial(self._kept.chunks, self._core.source_id, dataset, after, limit)
        return self._core.settler.repeat("read sums of chunks", read)

    def totals(self, dataset: str | None = None) -> Sequence[ChunkTotals]:
        """Return what they add up to, by dataset, then by state.

        :param dataset: of this one only.
        """
        if self._kept is None:
            return ()
        read = partial(self._kept.chunk_totals, self._core.source_id, dataset)
        return self._core.settler.repeat("add up sums of chunks", read)

    def forget(self, dataset: str) -> None:
        """Remove all sums of a dataset."""
        if self._kept is not None:
            forget = partial(self._kept.forget_chunks, self._core.source_id, check_key(dataset, "dataset"))
            self._core.settler.repeat("forget sums of chunks", forget)
