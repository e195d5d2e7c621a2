"""Copies as readers find them: what lies in some locations, by digest; and the rows of a dataset, read from one tier.

A copy is walked like the place that it is a copy of: its manifests are those, and so are the overlays among them. So a
tier gives exactly the rows that the published place gives, or an error that says what is missing in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from airflow_coordination.outputs.copies.locations import Site, locations_document, missing, sites_of
from airflow_coordination.outputs.heads.pages import head_pages
from airflow_coordination.outputs.heads.showing import shown_pages, steadily
from airflow_coordination.outputs.layout import MANIFEST
from airflow_coordination.outputs.manifests import Manifest, Reference, references
from airflow_coordination.outputs.membership import interval_of
from airflow_coordination.outputs.overlays import NONE, Overlay, Overlays
from airflow_coordination.outputs.published import DeadEnd, Start, manifests_in, source_identifier, starts_of, walks
from airflow_coordination.planning.copies.work import location_of
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.systems.objects.storage import Content, OutputError, join, parent
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.input_errors import InvalidInputError, shown
from airflow_coordination.values.names import check_read, compose_copies, split_source

_EXAMPLES: Final = 5
_COVERS: Final = '"covers":'


@dataclass(frozen=True, slots=True)
class Shelved:
    """Blocks that were copied, by the digests of their manifests (:class:`~.published.Shelf`).

    :param pieces: of each, its manifest and the directory of its files.
    :param overlays: those of them that stand for others.
    """

    pieces: Mapping[str, tuple[bytes, str]] = field(default_factory=dict)
    overlays: Overlays = NONE

    def content(self, reference: Reference) -> Content:
        """Return the manifest that was copied, or that it was not."""
        found = self.pieces.get(reference.digest)
        return found[0] if found else FileNotFoundError(reference.address)

    def directory(self, reference: Reference) -> str:
        """Return where its files lie."""
        return self.pieces[reference.digest][1]

    def dead_ends(self, starts: Sequence[Start]) -> list[DeadEnd]:
        """Return where walks end that need what was not copied; none when all is here."""
        found: list[DeadEnd] = []
        walks(starts, self.overlays, found, shelf=self)
        return found

    def manifests(self, starts: Sequence[Start]) -> list[Manifest]:
        """Return what readers read here, as :func:`~.published.published_manifests` does at the published place.

        :raises OutputError: when something was not copied.
        """
        return manifests_in(walks(starts, self.overlays, shelf=self))


def pieces_of(copy: Manifest) -> list[Manifest]:
    """Return the manifests of what a copy has, each with the directory where its files lie there.

    :raises OutputError: when one of them is no manifest.
    """
    beside = parent(copy.directory)
    return [Manifest.from_bytes(piece.text.encode(), join(beside, piece.directory, MANIFEST)) for piece in copy.copied]


def shelved(copies: Iterable[Manifest]) -> Shelved:
    """Return what some copies have together.

    :param copies: their manifests.
    :raises OutputError: when one of what they have copied is no manifest.
    """
    pieces: dict[str, tuple[bytes, str]] = {}
    merged: dict[str, Overlay] = {}
    for copy in copies:
        for piece in copy.copied:
            directory, content = join(parent(copy.directory), piece.directory), piece.text.encode()
            digest = piece.digest
            pieces[digest] = (content, directory)
            if _COVERS in piece.text:
                manifest = Manifest.from_bytes(content, join(directory, MANIFEST))
                merged[digest] = Overlay(manifest.key, manifest)
    row = sorted(merged.values(), key=lambda overlay: (overlay.key, overlay.manifest.fence))
    return Shelved(pieces, Overlays(tuple(row)))


def copies_in(
    store: PartitionStore, identifier: str, dataset: str | None, locations: Collection[str], most: int | None = None
) -> Iterator[tuple[HeadRecord, Manifest | None]]:
    """Yield the published copies in some locations, with their manifests; without one where it cannot be read.

    :param identifier: the stored one of the source that they are copies of.
    :param dataset: as users name it; ``None`` for all.
    :param locations: their names.
    :param most: so many of them; ``None`` for all.
    """
    prefix, source, kind = split_source(identifier)
    copies = compose_copies(source, prefix, kind)
    if copies is None or not locations:
        return
    for page in head_pages(store, copies, dataset):
        heads = [head for head in page if head.blocks and location_of(head.key) in locations][:most]
        starts = [(head.source, head.key, reference) for head in heads for reference in references(head.blocks[:1])]
        found = walks(starts, dead_ends=[], links=1)
        yield from ((head, next(iter(walk.chain), None)) for head, walk in zip(heads, found, strict=True))
        if most is not None and (most := most - len(heads)) < 1:
            return


def tier_manifests(
    store: PartitionStore,
    source: str,
    dataset: str,
    tier: str,
    partition_prefix: str | None = None,
    *,
    branch: int | None = None,
) -> list[Manifest]:
    """Return what readers read of a dataset from one tier: the same rows as from the place it was published to.

    :param tier: as locations name it. Copies in all of its locations that can be read count.
    :param branch: as if this branch, which has begun, were published.
    :raises InvalidInputError: when no location is of this tier.
    :raises OutputError: when something is missing in the tier, naming the chunks, and the tiers that have them.
    """
    check_read(dataset, MAX_DATASET_BYTES)
    identifier = source_identifier(store, source, partition_prefix)
    prefix, _, _ = split_source(identifier)
    sites = sites_of(locations_document(store, prefix))
    if not any(site.tier == tier for site in sites):
        known = ", ".join(sorted({site.tier for site in sites})) or "none"
        remedy = "Name one of those, or say a location of it with `locations set`"
        raise InvalidInputError("tier", tier, f"has no location (tiers with some: {known})", remedy)
    unread = missing(sites, store.store_id, prefix)

    def read(view: View) -> tuple[Shelved, list[HeadRecord]]:
        shelf = _shelf(store, identifier, dataset, sites, {tier}, unread)
        return shelf, [head for page in shown_pages(store, identifier, dataset, view) for head in page if head.blocks]

    shelf, heads = steadily(store, identifier, read, branch=branch)
    starts = starts_of(heads)
    if lacking := {end.key for end in shelf.dead_ends(starts)}:
        gone = [head for head in heads if head.key in lacking]
        others = {site.tier for site in sites} - {tier}
        having = sorted(
            other
            for other in others
            if not _shelf(store, identifier, dataset, sites, {other}, unread).dead_ends(starts_of(gone))
        )
        lost = {site.name: unread[site.name] for site in sites if site.tier == tier and site.name in unread}
        raise _lacking(source, dataset, tier, gone, having, lost)
    return shelf.manifests(starts)


def _shelf(
    store: PartitionStore,
    identifier: str,
    dataset: str,
    sites: Sequence[Site],
    tiers: Collection[str],
    unread: Mapping[str, str],
) -> Shelved:
    names = {site.name for site in sites if site.tier in tiers and site.name not in unread}
    found = copies_in(store, identifier, dataset, names)
    return shelved(manifest for _, manifest in found if manifest is not None)


def _lacking(
    source: str,
    dataset: str,
    tier: str,
    gone: Sequence[HeadRecord],
    having: Sequence[str],
    lost: Mapping[str, str],
) -> OutputError:
    """Return the error that says what is missing in a tier, why, and where it is."""
    chunks = sorted({str(interval_of(head, None) or f"partition {head.key}") for head in gone})
    named = ", ".join(chunks[:_EXAMPLES]) + (f" and {len(chunks) - _EXAMPLES} more" if chunks[_EXAMPLES:] else "")
    problem = f"has no copy of {named}"
    if lost:
        problem += "; " + "; ".join(f"location {name} cannot be read ({why})" for name, why in sorted(lost.items()))
    there = f"tier={' or '.join(map(repr, having))} has all of it; " if having else ""
    remedy = f"Leave out tier=…, which reads the published place; {there}`copies status {source}` says what waits"
    return OutputError(
        f"read dataset {shown(dataset)} of source {shown(source)}", f"tier {shown(tier)}", problem, remedy
    )
