"""The published data of a dataset: head records, their manifests, and the manifests those follow (promise S12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final, Protocol

from airflow_coordination.outputs.heads.pages import head_pages
from airflow_coordination.outputs.heads.showing import shown_pages, steadily
from airflow_coordination.outputs.index import (
    Indexed,
    contents_of,
    indexed,
    read_indexes,
    roots_read,
    write_indexes,
)
from airflow_coordination.outputs.leaving_out.kept import write_values
from airflow_coordination.outputs.manifests import Manifest, Reference, links_in, references, trail_address, verified
from airflow_coordination.outputs.overlays import NONE, Overlay, Overlays, Place, is_upkeep, met
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.systems.objects.storage import Content, OutputError, read_many
from airflow_coordination.values.accounting import Accounting, AddedUp, together
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.names import (
    agreed_prefix,
    check_read,
    compose_merged,
    compose_source,
    split_source,
)

_NONE_KNOWN: Final[Mapping[str, bytes]] = MappingProxyType({})
_TOO_MANY: Final = 2
"""So many manifests of an index for each block that head records name, and it is looked at whole."""
SHORT = 2
"""Links of a chain that are read without looking for a trail."""


def source_identifier(store: PartitionStore, source: str, partition_prefix: str | None) -> str:
    """Return the stored identifier of a source's partitions.

    :raises SettingsError: when the prefix is another one than the store's own.
    """
    return compose_source(source, agreed_prefix(store.partition_prefix, partition_prefix), "PARTITION")


def published_manifests(
    store: PartitionStore, source: str, dataset: str, partition_prefix: str | None = None, *, branch: int | None = None
) -> list[Manifest]:
    """Return the manifests of exactly the blocks of one dataset that readers see, each once, by partition key.

    Behind them come the overlays that stand for the other blocks: of one whose :attr:`~.manifests.Manifest.met` is not
    ``None``, only the rows of these origins are published.

    :param store: the store that holds the head records.
    :param source: the source's name.
    :param dataset: the dataset.
    :param partition_prefix: the source's prefix; the store's own by default.
    :param branch: as if this branch, which has begun, were published.
    :raises InvalidKeyError: when the source or dataset is no text.
    :raises InvalidInputError: when there is no such branch.
    :raises OutputError: when a manifest is missing or was changed.
    """
    check_read(dataset, MAX_DATASET_BYTES)  # no dataset would be all of them
    identifier = source_identifier(store, source, partition_prefix)
    overlays, starts = _shown(store, identifier, dataset, branch)
    return manifests_in(walks(starts, overlays, known=_indexed(identifier, dataset, starts)))


def _shown(
    store: PartitionStore, identifier: str, dataset: str, branch: int | None = None
) -> tuple[Overlays, list[Start]]:
    """Return where readers begin to walk, and what stands for what they would meet."""

    def read(view: View) -> tuple[Overlays, list[Start]]:
        overlays = overlays_of(store, identifier, dataset, by_index=True)
        return overlays, [start for page in shown_pages(store, identifier, dataset, view) for start in starts_of(page)]

    return steadily(store, identifier, read, branch=branch)


def _indexed(identifier: str, dataset: str, starts: Iterable[Start]) -> Mapping[str, bytes]:
    return indexed(identifier, dataset, roots_read(reference.address for *_, reference in starts))


def index_outputs(
    store: PartitionStore, source: str, dataset: str, partition_prefix: str | None = None, *, whole: bool = True
) -> list[Indexed]:
    """Bring the index of a dataset up to date, so that who reads it opens few files instead of a manifest a partition.

    Beside the manifests it keeps the least and greatest values of Parquet files' columns, from footers that are read
    once, so that ``read_completed(…, where=…)`` leaves files out.

    Nothing depends on it (:mod:`.index`): it may be old, or deleted. What is published later is read as ever.

    :param store: as for :func:`published_manifests`; so are the others.
    :param whole: look at everything, so that what is needed no more may go; else only at what head records name and the
        index has not, which costs as much as there is new.
    :return: what the index has, by output root; that of what was merged comes last. Below a root with so few manifests
        that no reader looks for an index (:data:`.index.LEAST`) there is none.
    :raises OutputError: when a manifest is missing or was changed, or the index cannot be written.
    """
    check_read(dataset, MAX_DATASET_BYTES)
    identifier = source_identifier(store, source, partition_prefix)
    overlays, starts = _shown(store, identifier, dataset)
    found = _written(identifier, dataset, starts, overlays, whole=whole)
    if (groups := _groups_of(identifier)) is not None:
        merged = [start for page in head_pages(store, groups, dataset) for start in starts_of(page)]
        found += _written(groups, dataset, merged, NONE, whole=whole)
    return found


def _written(
    identifier: str, dataset: str, starts: Sequence[Start], overlays: Overlays, *, whole: bool
) -> list[Indexed]:
    """Write the indexes that readers look for. Storage that does not answer says so once, not for each manifest."""
    roots = roots_read(reference.address for *_, reference in starts)
    if not roots:
        return []
    kept = read_indexes(identifier, dataset, roots)
    known = contents_of(kept.values())
    whole = whole or len(known) > _TOO_MANY * len(starts)
    row = starts if whole else [start for start in starts if start[2].digest not in known]
    found = walks(row, overlays, known=known)
    met = [each for (*_, first), walk in zip(row, found, strict=True) for each in _named(first, walk.chain)]
    written = write_indexes(identifier, dataset, met, kept, whole=whole)
    write_values(identifier, dataset, met, roots, whole=whole)
    return written


def _named(first: Reference, chain: Iterable[Manifest]) -> Iterator[tuple[Reference, Manifest]]:
    """Yield the manifests of a chain, each with how it is named."""
    reference: Reference | None = first
    for manifest in chain:
        assert reference is not None  # the walk went on by it
        yield reference, manifest
        reference = manifest.follows


def read_overlays(
    store: PartitionStore,
    source: str,
    dataset: str | None,
    partition_prefix: str | None = None,
    *,
    published_before: datetime | None = None,
) -> Overlays:
    """Return the overlays of a dataset. They are read before its head records: what they cover is there then.

    Groups' keys begin with their epoch, so those of earlier epochs are read first: when one of them has been given up,
    the later ones that it relied on were published before.

    :param dataset: ``None`` for those of all datasets together: a block's digest is in one of them only.
    :param published_before: leave out what was published at this moment, by the store's clock, or later.
    :raises OutputError: when a manifest is missing or was changed.
    """
    identifier = source_identifier(store, source, partition_prefix)
    return overlays_of(store, identifier, dataset, published_before=published_before)


def _groups_of(identifier: str) -> str | None:
    """Return the stored identifier of a source's groups; groups have none."""
    prefix, source, kind = split_source(identifier)
    return None if is_upkeep(source) else compose_merged(source, prefix, kind)


def overlays_of(
    store: PartitionStore,
    identifier: str,
    dataset: str | None,
    *,
    published_before: datetime | None = None,
    by_index: bool = False,
) -> Overlays:
    """Return the overlays of a dataset as :func:`read_overlays` does, of a source by its stored identifier.

    :param by_index: for readers: take manifests from the dataset's index where it has them.
    """
    groups = _groups_of(identifier)
    if groups is None:
        return NONE
    row: list[Overlay] = []
    for page in head_pages(store, groups, dataset):
        heads = [head for head in page if published_before is None or _before(head, published_before)]
        named = [(head, reference) for head in heads for reference in references(head.blocks)]
        starts = [(head.source, head.key, reference) for head, reference in named]
        known = _indexed(groups, dataset, starts) if by_index and dataset is not None else _NONE_KNOWN
        found = walks(starts, known=known)
        for (head, _), walk in zip(named, found, strict=True):
            row += [Overlay(head.key, manifest, head.published_at) for manifest in walk.chain]
    return Overlays(tuple(row))


def _before(head: HeadRecord, moment: datetime) -> bool:
    return head.published_at is not None and head.published_at < moment


def published_accounting(
    store: PartitionStore, source: str, dataset: str, partition_prefix: str | None = None
) -> AddedUp:
    """Return what had become of the records of each partition when it published what one dataset holds, added up.

    So who reads published rows learns what is not among them: how many records were dropped and why, dead-lettered or
    unrouted. The counts are of the partitions, and so of all their sinks. Where passes that start over add to a dataset
    (``mode="append"``), they are of the last pass only.

    :param store: the store that holds the head records.
    :param source: the source's name.
    :param dataset: the dataset.
    :param partition_prefix: the source's prefix; the store's own by default.
    :return: of how many partitions they are is among them: what was published without ``lease.deliver`` has no counts.
    :raises InvalidInputError: when the counts of one are corrupt.
    :raises InvalidKeyError: when the source or dataset is no text.
    """
    check_read(dataset, MAX_DATASET_BYTES)
    identifier = source_identifier(store, source, partition_prefix)

    def read(view: View) -> list[Accounting | None]:
        return [head.accounting for page in shown_pages(store, identifier, dataset, view) for head in page]

    return together(copy for copy in steadily(store, identifier, read) if copy is not None)


Start = tuple[str, str, Reference]
"""Stored source identifier, partition key and manifest of a chain's newest link."""


def starts_of(heads: Iterable[HeadRecord]) -> list[Start]:
    """Return where walks begin: at each block that head records name."""
    return [(head.source, head.key, reference) for head in heads for reference in references(head.blocks)]


@dataclass(slots=True)
class Walk:
    """What readers meet on the way from a block down what it follows.

    :param chain: the manifests, the newest first.
    :param place: what has the rows of the rest, if the walk has ended at a covered block.
    """

    chain: list[Manifest]
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class DeadEnd:
    """Where a walk ends nowhere: at a manifest that readers refuse or do not find, and that no overlay covers.

    :param source: the stored identifier of the partition's source.
    :param key: of the partition that has published it.
    :param reference: to the manifest.
    :param error: what readers are told.
    :param unseen: whether storage has not said what is there.
    """

    source: str
    key: str
    reference: Reference
    error: OutputError
    unseen: bool


@dataclass(frozen=True, slots=True)
class _End:
    """The position on a chain: the manifest to read next, and the partition that it must be of."""

    number: int
    source: str
    key: str
    reference: Reference


class Shelf(Protocol):
    """Where copies of blocks lie, by the digests of their manifests."""

    def content(self, reference: Reference) -> Content:
        """Return the manifest that was copied, or that it was not."""

    def directory(self, reference: Reference) -> str:
        """Return where its files lie."""


def walks(
    starts: Sequence[Start],
    overlays: Overlays = NONE,
    dead_ends: list[DeadEnd] | None = None,
    links: int | None = None,
    shelf: Shelf | None = None,
    known: Mapping[str, bytes] = _NONE_KNOWN,
) -> list[Walk]:
    """Walk from each start to the end of its chain or the first block that an overlay covers, whichever comes first.

    Each block is met once: where two starts lead to it, by the first. This is the only function that walks; readers,
    the collector, the check of schemas and compaction all go by it (promise S21). The chains are walked side by side.
    What the trails of long ones name is fetched in one round.

    :param dead_ends: takes those; a walk ends there then.
    :param links: of each chain are read, and no more; ``None`` for all.
    :param shelf: take all manifests from there, and nothing from where they were published.
    :param known: manifests by their digests, which need not be read.
    :raises OutputError: at the first dead end, unless ``dead_ends`` takes it.
    """
    found = [Walk([]) for _ in starts]
    ends = [_End(number, *start) for number, start in enumerate(starts)]
    fetched: dict[str, Content] = {}
    seen: set[Reference] = set()
    while ends and links != 0:
        links = None if links is None else links - 1
        ends = [end for end in ends if not (end.reference in seen or seen.add(end.reference))]  # type: ignore[func-returns-value]
        ends = [end for end in ends if not _covered(end, overlays, found)]
        if shelf is None:
            at_hand = [end.reference for end in ends if end.reference.digest in known]
            fetched.update((each.address, known[each.digest]) for each in at_hand)
            _fetch(ends, [walk.chain for walk in found], fetched)
        else:
            fetched.update((end.reference.address, shelf.content(end.reference)) for end in ends)
        following = []
        for end in ends:
            manifest = _manifest(end, fetched[end.reference.address], dead_ends)
            if manifest:
                there = manifest if shelf is None else replace(manifest, directory=shelf.directory(end.reference))
                found[end.number].chain.append(there)
            if manifest and manifest.follows:
                following.append(replace(end, reference=manifest.follows))
        for end in ends:
            fetched.pop(end.reference.address, None)
        ends = following
    return found


def _manifest(end: _End, content: Content, dead_ends: list[DeadEnd] | None) -> Manifest | None:
    try:
        return verified(content, end.reference, end.source, end.key)
    except OutputError as error:
        if dead_ends is None:
            raise
        dead_ends.append(DeadEnd(end.source, end.key, end.reference, error, isinstance(content, OutputError)))
        return None


def _covered(end: _End, overlays: Overlays, found: Sequence[Walk]) -> bool:
    place = overlays.place(end.reference, end.key)
    if place is not None:
        found[end.number].place = place
    return place is not None


def manifests_in(found: Iterable[Walk]) -> list[Manifest]:
    """Return the manifests that walks have met, oldest first within a chain, and then the overlays."""
    row = list(found)
    chains = [manifest for walk in row for manifest in reversed(walk.chain)]
    return chains + met(walk.place for walk in row if walk.place)


def follow(starts: Sequence[Start], overlays: Overlays = NONE) -> list[Manifest]:
    """Return the manifests that readers meet who begin at ``starts``."""
    return manifests_in(walks(starts, overlays))


def _fetch(ends: Sequence[_End], chains: Sequence[list[Manifest]], fetched: dict[str, Content]) -> None:
    """Read the manifests at ``ends`` that are not fetched yet, and what the trails of long chains name."""
    missing = [end for end in ends if end.reference.address not in fetched]
    long = [end for end in missing if len(chains[end.number]) >= SHORT]
    addresses = list(dict.fromkeys(end.reference.address for end in missing))
    contents = read_many([*addresses, *(trail_address(end.reference.address) for end in long)])
    fetched.update(zip(addresses, contents, strict=False))
    named = [
        link.address
        for end, trail in zip(long, contents[len(addresses) :], strict=True)
        for link in links_in(trail, end.source, end.key)
        if link.address not in fetched
    ]
    fetched.update(zip(named, read_many(named), strict=True))
