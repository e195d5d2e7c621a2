"""What a plan about copies was made from, and whether it still counts: asked before each step.

Steps are conditioned on the partitions that were seen. What people say of rules, locations and duties is in no
partition: who was stopped after planning would still do what nobody wants any more (promise S25).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from airflow_coordination.duties.copies.lost import lost_of
from airflow_coordination.duties.groups.marks import versions
from airflow_coordination.duties.groups.round import documents_of_all
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.beside.documents import (
    CONFIGURATION,
    DEFAULT_RULES,
    LOCATIONS,
    LOST_LOCATIONS,
    Document,
)
from airflow_coordination.values.input_errors import shown

log = logging.getLogger(__name__)
_OF_ALL: Final = (CONFIGURATION, DEFAULT_RULES, LOCATIONS)


@dataclass(frozen=True, kw_only=True)
class Premises:
    """What was said when a plan was made. It is read before all else that the plan is made from.

    :param of_all: the versions of what is said of all sources: configuration, default rules, locations.
    :param lost: the names of the locations that are said to be lost.
    :param sources: by name, each source with the versions of its documents: its rules, its view.
    """

    of_all: Mapping[str, int | None]
    lost: frozenset[str]
    sources: Mapping[str, tuple[SourceCoordinator, Mapping[str, int]]]

    @classmethod
    def read(
        cls, documents: Mapping[str, Document], lost: Collection[str], coordinators: Iterable[SourceCoordinator]
    ) -> Premises:
        """Return what is said now; one request for each source.

        :param documents: of all sources, as the run has read them.
        :param lost: the names of the locations that are said to be lost.
        :param coordinators: of the sources that are planned.
        """
        return cls(
            of_all=_of_all(documents),
            lost=frozenset(lost),
            sources={each.source: (each, versions(each)) for each in coordinators},
        )

    def hold(self, source: str) -> bool:
        """Return whether all of it is as it was, for a step in a source; two requests."""
        coordinator, said = self.sources[source]
        documents = documents_of_all(coordinator)
        same = (
            _of_all(documents) == self.of_all
            and lost_of(documents.get(LOST_LOCATIONS)).keys() == self.lost
            and versions(coordinator) == said
        )
        if not same:
            what = "what they were planned from has changed"
            log.info("Copies of source %s are left for the next run: %s.", shown(source), what)
        return same


def _of_all(documents: Mapping[str, Document]) -> dict[str, int | None]:
    return {name: documents[name].version if name in documents else None for name in _OF_ALL}
