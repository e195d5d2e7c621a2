"""What the duties about copies see: read in an order in which nothing that happens meanwhile is missed.

Partitions of copies before their heads: what ends meanwhile counts as pending, and what is done about a partition is
refused when it has changed since. Copies before heads, as readers of a tier read them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from airflow_coordination.duties.copies.lost import Lost
from airflow_coordination.duties.retention.applying import datasets_of
from airflow_coordination.duties.retention.ruled import KEEP, Ruled, rules_of
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.copies.chunks import chunks_of, heads_that_show
from airflow_coordination.outputs.copies.locations import Site, missing
from airflow_coordination.outputs.copies.making import is_locked
from airflow_coordination.outputs.copies.reading import copies_in, pieces_of, shelved
from airflow_coordination.outputs.heads.pages import head_pages
from airflow_coordination.outputs.heads.showing import read_view, steadily
from airflow_coordination.outputs.manifests import Manifest, Reference
from airflow_coordination.outputs.membership import interval_of, keys_of
from airflow_coordination.outputs.overlays import Overlay, Overlays
from airflow_coordination.outputs.published import Start, overlays_of, starts_of
from airflow_coordination.planning.copies.deciding import Chunk, Look, Name, There
from airflow_coordination.planning.copies.location import Location
from airflow_coordination.planning.copies.work import CopyWork, chunk_of, dataset_of, location_of
from airflow_coordination.planning.intervals import ETERNITY, Interval
from airflow_coordination.planning.rules.choosing import first_change
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import (
    COPIES,
    UPKEEP,
    compose_copies,
    identifier_of,
    name_under,
)
from airflow_coordination.values.status import PartitionStatus

_DIGITS: Final = 32


@dataclass(frozen=True, slots=True)
class Shown:
    """What readers see of one chunk of a dataset.

    :param interval: its interval; that of all times also for what has none.
    :param starts: where readers begin.
    :param bytes: about how many a copy takes.
    :param timed: whether something of it has an interval.
    """

    interval: Interval
    starts: tuple[Start, ...]
    bytes: int
    timed: bool = True

    @property
    def wanted(self) -> str:
        """A digest of the blocks that readers see."""
        row = sorted([key, reference.digest] for _, key, reference in self.starts)
        return hashlib.sha256(json.dumps(row).encode()).hexdigest()[:_DIGITS]


@dataclass(frozen=True, kw_only=True)
class OfSource:
    """One source as it was read.

    :param coordinator: of the source.
    :param copies: of the source of its copies.
    :param partitions: of copies, by key.
    :param there: its copies.
    :param chunks: what shows, where it was looked at.
    :param shown: the same with where readers begin.
    :param ruled: the rules of each dataset.
    :param view: what readers see, with the branches that have begun.
    """

    coordinator: SourceCoordinator
    copies: SourceCoordinator
    partitions: Mapping[str, Partition]
    there: Sequence[There]
    chunks: Sequence[Chunk] = ()
    shown: Mapping[Name, Shown] = field(default_factory=dict)
    ruled: Mapping[str, Ruled] = field(default_factory=dict)
    view: View | None = None

    def unsaid(self, name: Name) -> bool:
        """Return whether nobody has said any rule that decides about a chunk."""
        its = self.ruled.get(name[1])
        return its is not None and its.rules == KEEP

    def changes_at(self, now: datetime) -> datetime | None:
        """Return when time alone makes another rule decide about something of it."""
        found = [
            first_change(its.rules, [name[2] for name in self.shown if name[1] == dataset], now)
            for dataset, its in self.ruled.items()
        ]
        return min((each for each in found if each is not None), default=None)


def copies_coordinator(coordinator: SourceCoordinator) -> SourceCoordinator | None:
    """Return a coordinator of the copies of a source; ``None`` where its name is too long for a source beside it."""
    if compose_copies(coordinator.source, coordinator.partition_prefix) is None:
        return None
    return SourceCoordinator(
        coordinator.store,
        f"{COPIES}{coordinator.source}",
        coordinator.owner.text,
        coordinator.partition_prefix,
        settings=coordinator.settings,
        metrics=coordinator.metrics,
    )


def read_source(
    coordinator: SourceCoordinator, lost: Collection[str], *, whole: bool, sites: Sequence[Site] = ()
) -> OfSource | None:
    """Return a source as it is now; ``None`` where nothing of it can be copied.

    :param lost: the locations that cannot be read: what they have counts as having all that shows. What is damaged in
        one that can be read does not.
    :param whole: look at what shows, too; otherwise only at the room that its copies take.
    :param sites: the locations. One that is lost while it is read is asked for its marker again, and not taken for
        damaged.
    :raises OutputError: when the manifest of an overlay is missing or was changed.
    """
    copies = copies_coordinator(coordinator)
    if copies is None:
        return None
    partitions = {each.key: each for each in copies.looking.each()}
    names = {location_of(key) for key in partitions}
    readable = names - set(lost)
    there = list(copies_in(coordinator.store, identifier_of(coordinator), None, readable if whole else ()))
    damaged = _damaged(coordinator, there, sites)
    there += _unread(copies, names - readable if whole else names)
    if not whole:
        return OfSource(
            coordinator=coordinator,
            copies=copies,
            partitions=partitions,
            there=list(_there(coordinator.source, partitions, there, None)),
        )
    view = read_view(coordinator.store, identifier_of(coordinator))
    ruled = {dataset: rules_of(coordinator, dataset) for dataset in datasets_of(coordinator)}
    shown = {
        (coordinator.source, dataset, each.interval): each
        for dataset in ruled
        for each in shown_chunks(coordinator, dataset)
    }
    chunks = [
        Chunk(
            name=name,
            bytes=each.bytes,
            rules=ruled[name[1]].rules,
            locked=is_locked(view, name[2]),
            timed=each.timed,
        )
        for name, each in shown.items()
    ]
    return OfSource(
        coordinator=coordinator,
        copies=copies,
        partitions=partitions,
        there=list(_there(coordinator.source, partitions, there, shown, damaged)),
        chunks=chunks,
        shown=shown,
        ruled=ruled,
        view=view,
    )


def others_of(coordinator: SourceCoordinator, served: Collection[str]) -> list[OfSource]:
    """Return the sources beside those that are served, of which only the room counts that their copies take.

    :param coordinator: of any source with their prefix.
    :param served: the names of those that are served.
    """
    found = []
    for identifier, _ in coordinator.store.sources():
        name = name_under(coordinator.partition_prefix, identifier)
        if name is not None and not name.startswith(UPKEEP) and name not in served:
            prefix = coordinator.partition_prefix
            other = SourceCoordinator(coordinator.store, name, coordinator.owner.text, prefix)
            found.append(read_source(other, (), whole=False))
    return [each for each in found if each is not None]


def _damaged(
    coordinator: SourceCoordinator, found: Iterable[tuple[HeadRecord, Manifest | None]], sites: Sequence[Site]
) -> set[str]:
    """Return the keys of copies that are not where they were made, though their location is there."""
    keys = {head.key for head, manifest in found if manifest is None}
    of_them = [site for site in sites if site.name in {location_of(key) for key in keys}]
    gone = missing(of_them, coordinator.store.store_id, coordinator.partition_prefix) if of_them else {}
    return {key for key in keys if location_of(key) not in gone}


def _unread(copies: SourceCoordinator, locations: Collection[str]) -> Iterator[tuple[HeadRecord, Manifest | None]]:
    """Yield the heads of copies whose manifests are not read."""
    for page in head_pages(copies.store, identifier_of(copies), None) if locations else ():
        yield from ((head, None) for head in page if head.blocks and location_of(head.key) in locations)


def _there(
    source: str,
    partitions: Mapping[str, Partition],
    found: Iterable[tuple[HeadRecord, Manifest | None]],
    shown: Mapping[Name, Shown] | None,
    damaged: Collection[str] = (),
) -> Iterator[There]:
    heads = {head.key: (head, manifest) for head, manifest in found}
    timed = _timed_keys(shown or {})
    for key, partition in partitions.items():
        try:
            name = (source, dataset_of(key), chunk_of(key))
            work = CopyWork.from_payload(partition.payload)
        except InvalidInputError:
            continue  # made by a person, or by newer code: it is left as it is
        head, manifest = heads.get(key, (None, None))
        pending = is_pending(partition)
        yield There(
            name=name,
            location=location_of(key),
            bytes=head.bytes if head else 0,
            asked=work.bytes if pending else 0,
            published=head is not None,
            fresh=head is not None and key not in damaged and _is_fresh(manifest, name, shown),
            pending=pending,
            made_at=head.published_at.timestamp() if head and head.published_at else 0.0,
            instead_of=work.instead_of,
            timed=name[2] != ETERNITY or not timed.get(name[1], set()).isdisjoint(_keys_in(manifest)),
        )


def _timed_keys(shown: Mapping[Name, Shown]) -> dict[str, set[str]]:
    """Return the keys of what shows in chunks of some time, by dataset."""
    found: dict[str, set[str]] = {}
    for (_, dataset, _), each in shown.items():
        if each.timed:
            found.setdefault(dataset, set()).update(key for _, key, _ in each.starts)
    return found


def _keys_in(copy: Manifest | None) -> set[str]:
    """Return the keys of the partitions that a copy has rows of; none where it cannot be read."""
    found: set[str] = set()
    for piece in pieces_of(copy) if copy is not None else ():
        found |= keys_of(Overlay(piece.key, piece)) if piece.merged else {piece.key}
    return found


def _is_fresh(manifest: Manifest | None, name: Name, shown: Mapping[Name, Shown] | None) -> bool:
    """Return whether a copy has all that shows; one in a lost location, or not looked at, is taken for such."""
    if shown is None:
        return True
    if name not in shown:
        return False
    return manifest is None or not shelved([manifest]).dead_ends(shown[name].starts)


def is_pending(partition: Partition) -> bool:
    """Return whether a copy was asked for and is still to be made; what is parked waits for the duties themselves."""
    return partition.status is not PartitionStatus.COMPLETED and not partition.parked


def shown_chunks(coordinator: SourceCoordinator, dataset: str) -> list[Shown]:
    """Return what readers see of a dataset, by chunks (:func:`~.chunks.chunks_of`).

    :raises OutputError: when the manifest of an overlay is missing or was changed.
    """
    store, identifier = coordinator.store, identifier_of(coordinator)

    def read(view: View) -> tuple[Overlays, list[HeadRecord]]:
        return overlays_of(store, identifier, dataset), heads_that_show(store, identifier, dataset, view)

    overlays, heads = steadily(store, identifier, read)
    return [_shown(interval, inside, overlays) for interval, inside in chunks_of(heads, overlays).items()]


def _shown(interval: Interval, heads: Sequence[HeadRecord], overlays: Overlays) -> Shown:
    size, met = 0, {}
    for head in heads:
        for block in head.blocks:
            place = overlays.place(Reference(block.address, block.digest), head.key)
            if place is None:
                size += block.bytes
            else:
                met[place.overlay.manifest.address] = place.overlay.manifest.size
    timed = any(interval_of(head, None) is not None for head in heads)
    return Shown(interval, tuple(starts_of(heads)), size + sum(met.values()), timed)


def whole_look(
    found: Sequence[OfSource],
    sites: Sequence[Site],
    lost: Mapping[str, Lost],
    draining: Collection[str],
    now: datetime,
) -> Look:
    """Return all sources together, as the decisions need it.

    :param draining: the locations that get nothing more.
    """
    views = {each.coordinator.source: each.view for each in found if each.view is not None}
    locations = [
        Location(
            site.name,
            site.tier,
            site.capacity,
            draining=site.name in draining,
            lost_since=lost[site.name].since if site.name in lost else None,
        )
        for site in sites
    ]

    def locked(name: Name) -> bool:
        view = views.get(name[0])
        return view is not None and is_locked(view, name[2])

    return Look(
        chunks=[chunk for each in found for chunk in each.chunks],
        copies=[copy for each in found for copy in each.there],
        locations=locations,
        now=now,
        sources=set(views),
        locked=locked,
    )
