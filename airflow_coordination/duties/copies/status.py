"""Where the copies of a source lie, how full locations are, and what waits and why: plain values, for people.

Who only looks sees what the duties would decide now; nothing is changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from airflow_coordination.duties.copies.lost import lost_of, not_read
from airflow_coordination.duties.copies.snapshot import OfSource, others_of, read_source, whole_look
from airflow_coordination.duties.groups.round import documents_of_all
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.copies.locations import sites_of
from airflow_coordination.planning.copies.deciding import Chunk, Loads, Look, Name, There, loads
from airflow_coordination.planning.copies.work import CopyWork
from airflow_coordination.planning.duties.configuration import DynamicConfig
from airflow_coordination.protocol.beside.documents import LOCATIONS, LOST_LOCATIONS
from airflow_coordination.protocol.partition import Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationStatus:
    """A location.

    :param name: its name.
    :param tier: its tier.
    :param root: the address of its directory.
    :param capacity: bytes it has room for.
    :param used: bytes that copies of all sources take there, and will take that were asked for.
    :param copies: how many copies of this source it has.
    :param pending: how many more were asked for.
    :param draining: whether it gets nothing more (``decommissioningNodes``).
    :param lost_since: since when it cannot be read; ``None`` while it can be.
    :param why: why it cannot be read.
    """

    name: str
    tier: str
    root: str
    capacity: int
    used: int
    copies: int
    pending: int
    draining: bool
    lost_since: datetime | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkStatus:
    """What readers see of an interval of a dataset, and its copies.

    :param dataset: the dataset.
    :param chunk: the interval, as text.
    :param bytes: about how many a copy takes.
    :param there: the locations whose copies have all that shows.
    :param stale: those whose copies lack something that was published since, or are not where they were made.
    :param pending: those for which one was asked for.
    :param waits: why what rules want is not all there and not on its way; empty when it is.
    """

    dataset: str
    chunk: str
    bytes: int
    there: tuple[str, ...]
    stale: tuple[str, ...]
    pending: tuple[str, ...]
    waits: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiesStatus:
    """The copies of a source.

    :param locations: by name.
    :param chunks: the newest first, dataset by dataset.
    :param needless: how many copies are of chunks that show no more, and go by and by.
    """

    locations: tuple[LocationStatus, ...] = ()
    chunks: tuple[ChunkStatus, ...] = ()
    needless: int = 0


def copies_status(coordinator: SourceCoordinator, config: DynamicConfig) -> CopiesStatus:
    """Return where the copies of a source lie.

    :param config: the dynamic configuration.
    :raises OutputError: when the manifest of what is merged is missing or was changed.
    """
    documents = documents_of_all(coordinator)
    sites, now = sites_of(documents.get(LOCATIONS)), coordinator.store.now()
    lost = not_read(sites, lost_of(documents.get(LOST_LOCATIONS)), coordinator, now)
    own = read_source(coordinator, lost, whole=True, sites=sites)
    if own is None:
        return CopiesStatus()
    found = [own, *others_of(coordinator, {coordinator.source})]
    look = whole_look(found, sites, lost, config.decommissioning_nodes, now)
    decided = loads(look, config.location_grace, config.replication_throttle_limit)
    filled = {one.name: one for one in look.filled(lambda _: True)}
    mine = [copy for copy in look.copies if copy.name[0] == coordinator.source]
    by_name: dict[Name, list[There]] = {}
    for copy in mine:
        by_name.setdefault(copy.name, []).append(copy)
    return CopiesStatus(
        locations=tuple(
            LocationStatus(
                name=site.name,
                tier=site.tier,
                root=site.root,
                capacity=site.capacity,
                used=filled[site.name].used,
                copies=sum(copy.location == site.name and copy.published for copy in mine),
                pending=sum(copy.location == site.name and copy.pending for copy in mine),
                draining=site.name in config.decommissioning_nodes,
                lost_since=lost[site.name].since if site.name in lost else None,
                why=lost[site.name].why if site.name in lost else "",
            )
            for site in sites
        ),
        chunks=tuple(_chunk(chunk, by_name.get(chunk.name, ()), decided, own) for chunk in _newest_first(look)),
        needless=sum(copy.published and copy.name not in look.by_name for copy in mine),
    )


def _newest_first(look: Look) -> list[Chunk]:
    return sorted(look.chunks, key=lambda each: (each.name[1], -each.interval.end.timestamp()))


def _chunk(chunk: Chunk, row: Sequence[There], decided: Loads, own: OfSource) -> ChunkStatus:
    pending = _places(copy for copy in row if copy.pending)
    return ChunkStatus(
        dataset=chunk.name[1],
        chunk=str(chunk.interval),
        bytes=chunk.bytes,
        there=_places(copy for copy in row if copy.fresh),
        stale=_places(copy for copy in row if copy.published and not copy.fresh),
        pending=pending,
        waits="; ".join(_reasons(chunk, decided, own, pending)),
    )


def _places(copies: Iterator[There]) -> tuple[str, ...]:
    return tuple(sorted(copy.location for copy in copies))


def _reasons(chunk: Chunk, decided: Loads, own: OfSource, pending: Collection[str]) -> Iterator[str]:
    if chunk.locked:
        yield "a branch has begun there: it is copied when that one shows"
    if chunk.name in decided.unmatched:
        yield "no rule applies to it"
    for tier in sorted({tier for tier, name in decided.waiting if name == chunk.name}):
        yield f"no room in tier {tier}"
    asked = [copy.location for copy in (*decided.make, *decided.renew) if copy.name == chunk.name]
    if asked:
        yield f"the next run of runRules asks for {', '.join(sorted(asked))}"
    for partition in _failed(own, chunk, pending):
        yield f"{partition.key} has failed {partition.failures} time(s): {partition.last_error}"


def _failed(own: OfSource, chunk: Chunk, pending: Collection[str]) -> Iterator[Partition]:
    for location in pending:
        work = CopyWork(location=location, dataset=chunk.name[1], chunk=chunk.interval)
        partition = own.partitions.get(work.key)
        if partition is not None and partition.last_error:
            yield partition
