"""The published data of a dataset: head records, their manifests, and the manifests those follow (promise S12)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from airflow_coordination.outputs.manifests import Manifest, Reference, links_in, references, trail_address, verified
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.systems.objects.storage import Content, OutputError, read_many
from airflow_coordination.values.accounting import AddedUp, together
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.names import agreed_prefix, check_key, compose_source, partition_label

PAGE = 1_000
SHORT = 2
"""Links of a chain that are read without looking for a trail."""


def source_identifier(store: PartitionStore, source: str, partition_prefix: str | None) -> str:
    """Return the stored identifier of a source's partitions.

    :raises SettingsError: when the prefix is another one than the store's own.
    """
    return compose_source(source, agreed_prefix(store.partition_prefix, partition_prefix), "PARTITION")


def published_manifests(
    store: PartitionStore, source: str, dataset: str, partition_prefix: str | None = None
) -> list[Manifest]:
    """Return the manifests of exactly the published blocks of one dataset, each once, by partition key.

    :param store: the store that holds the head records.
    :param source: the source's name.
    :param dataset: the dataset.
    :param partition_prefix: the source's prefix; the store's own by default.
    :raises InvalidKeyError: when the source or dataset is no text.
    :raises OutputError: when a manifest is missing or was changed.
    """
    check_key(dataset, "dataset", MAX_DATASET_BYTES)  # no dataset would be all of them
    found: list[Manifest] = []
    for page in head_pages(store, source_identifier(store, source, partition_prefix), dataset):
        found += follow([(head.source, head.key, reference) for head in page for reference in references(head.blocks)])
    return found


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
    check_key(dataset, "dataset", MAX_DATASET_BYTES)
    pages = head_pages(store, source_identifier(store, source, partition_prefix), dataset)
    copies = (head.accounting for page in pages for head in page)
    return together(copy for copy in copies if copy is not None)


def head_pages(store: PartitionStore, source: str, dataset: str) -> Iterator[Sequence[HeadRecord]]:
    """Yield the head records of one dataset, page by page."""
    after: str | None = None
    while page := store.heads(source, dataset=dataset, after=after, limit=PAGE):
        for head in page:
            _check_kind(head)
        yield page
        after = page[-1].key


@dataclass(frozen=True, slots=True)
class _End:
    """The position on a chain: the manifest to read next, and the partition that it must be of."""

    number: int
    source: str
    key: str
    reference: Reference


def follow(starts: Sequence[tuple[str, str, Reference]]) -> list[Manifest]:
    """Return the manifests that ``starts`` name and all that those follow, each once, oldest first within a chain.

    The chains are walked side by side. What the trails of long ones name is fetched in one round.

    :param starts: stored source identifier, partition key and manifest of each chain's newest link.
    """
    chains: list[list[Manifest]] = [[] for _ in starts]
    ends = [_End(number, *start) for number, start in enumerate(starts)]
    fetched: dict[str, Content] = {}
    seen: set[Reference] = set()
    while ends:
        ends = [end for end in ends if not (end.reference in seen or seen.add(end.reference))]  # type: ignore[func-returns-value]
        _fetch(ends, chains, fetched)
        following = []
        for end in ends:
            manifest = verified(fetched[end.reference.address], end.reference, end.source, end.key)
            chains[end.number].append(manifest)
            if manifest.follows:
                following.append(replace(end, reference=manifest.follows))
        for end in ends:
            fetched.pop(end.reference.address, None)
        ends = following
    return [manifest for chain in chains for manifest in reversed(chain)]


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


def _check_kind(head: HeadRecord) -> None:
    if head.kind != "files":
        raise OutputError(
            f"read the output of {partition_label(head.source, head.key)}",
            f"head record of dataset {head.dataset!r}",
            f"is of kind {head.kind!r}, not files",
            "Update this package",
        )
