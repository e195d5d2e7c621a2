"""The sources of a store: how each of them is, and whose it is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from airflow_coordination.leases.creation import dags_of
from airflow_coordination.protocol.beside.parts import glance
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.values.names import split_source
from airflow_coordination.values.status import PartitionStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSummary:
    """One source as it was at one look.

    :param identifier: the stored source identifier.
    :param dags: the ids of the DAGs that registered it, in order; none of a source that was filled outside Airflow.
    :param counts: partitions by status.
    :param outlook: what can still happen in it.
    """

    identifier: str
    dags: tuple[str, ...]
    counts: Mapping[PartitionStatus, int]
    outlook: Outlook

    @property
    def name(self) -> str:
        """The source's name."""
        return split_source(self.identifier)[1]

    @property
    def prefix(self) -> str | None:
        """The deployment's partition prefix, ``None`` without one."""
        return split_source(self.identifier)[0]

    @property
    def total(self) -> int:
        """How many partitions it has."""
        return sum(self.counts.values())


def sources(store: PartitionStore, only: Collection[str] | None = None) -> Iterator[SourceSummary]:
    """Yield what is registered in a store, by name; two requests for each source, when it is its turn.

    :param only: stored source identifiers; ``None`` = all.
    """
    for identifier, facts in store.sources():
        if only is None or identifier in only:
            yield SourceSummary(
                identifier=identifier,
                dags=tuple(sorted(dags_of(facts))),
                counts=store.counts(identifier),
                outlook=glance(store, identifier),
            )
