"""What the planner sees of a source: read in an order in which nothing that happens meanwhile is missed.

The history before everything else: what is published after it is news for the next run. Groups before overlays: a
group that ends meanwhile counts as under way. Overlays before head records, as readers do it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.heads.standing import Standing
from airflow_coordination.outputs.membership import locks
from airflow_coordination.outputs.overlays import Overlays
from airflow_coordination.outputs.published import read_overlays
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.in_bulk import unsearched
from airflow_coordination.values.names import identifier_of

_TENURES: Final = 100
"""So many of the newest endings make up the digest: commits that overtake each other are not farther apart."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A dataset as it was read.

    :param overlays: what is merged.
    :param heads: what partitions have published, by key; those that were retracted left out.
    :param locked: where branches are at work, and what to call each.
    :param shown: what shows of partitions that have something in a branch, ``None`` = nothing; of others all shows.
    """

    overlays: Overlays
    heads: Sequence[HeadRecord]
    locked: Mapping[Interval, str] = field(default_factory=dict)
    shown: Mapping[str, HeadRecord | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A source as it was read.

    :param now: the store's clock.
    :param history: a digest of the newest tenures; ``None`` where the store has no history.
    :param groups: the partitions that merge, by key.
    :param datasets: by their names.
    :param places: how many leases the workers that are alive can hold.
    """

    now: datetime
    history: str | None
    groups: Mapping[str, Partition]
    datasets: Mapping[str, Seen]
    places: int = 0


def newest_tenures(coordinator: SourceCoordinator) -> str | None:
    """Return a digest of the tenures of a source that ended last: it changes when somebody publishes.

    :return: ``None`` where the store has no history.
    """
    if parts_of(coordinator.store).history is None:
        return None
    found = coordinator.looking.past_tenures(_TENURES)
    return hashlib.sha256(" ".join(tenure.op for tenure in found).encode()).hexdigest()[:32]


@unsearched()
def look(
    coordinator: SourceCoordinator, groups: SourceCoordinator, datasets: Iterable[str], history: str | None
) -> Snapshot:
    """Read everything.

    :param coordinator: of the source whose partitions have published.
    :param groups: of the source of its groups.
    :param datasets: the names of those that are compacted.
    :param history: :func:`newest_tenures`, read before.
    :raises OutputError: when the manifest of an overlay is missing or was changed.
    """
    now = coordinator.store.now()
    places = sum(member.capacity for member in groups.workers.members())
    there = {group.key: group for group in groups.looking.each()}
    return Snapshot(now, history, there, {name: _seen(coordinator, name) for name in datasets}, places)


def _seen(coordinator: SourceCoordinator, dataset: str) -> Seen:
    store, source, prefix = coordinator.store, coordinator.source, coordinator.partition_prefix
    overlays = read_overlays(store, source, dataset, prefix)
    standing = Standing(store, identifier_of(coordinator), dataset)
    heads = [head for page in standing.pages() for head in page]
    return Seen(overlays, heads, locks(standing.view), standing.shown)
