"""The port between the protocol and its stores. It belongs to its user, so it lives here, back ends in ``stores``.

Leases need :class:`PartitionStore`, which every store is. What a store may have beside it are parts, each of them there
or not (:mod:`~.beside.parts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Protocol

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.results import Answer, Created, HeadRecord, Outlook, Swept
from airflow_coordination.protocol.writes import (
    AcquireNext,
    Act,
    Create,
    FencedWrite,
    KnownAcquisition,
    Place,
    Sweep,
)
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
    it has, it says by a method ``parts()``, which returns :class:`~.parts.StoreParts`; without that method it has none.
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
