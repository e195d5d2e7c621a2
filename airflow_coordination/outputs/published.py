"""What a reader sees: head records, their manifests, and the manifests those follow (promise S12)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_coordination.leases.names import agreed_prefix, compose_source
from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.leases.results import HeadRecord
from airflow_coordination.outputs.errors import OutputError, partition_label
from airflow_coordination.outputs.manifests import Manifest, Reference, references, verified
from airflow_coordination.outputs.storage import read_many

PAGE = 1_000


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
    :raises OutputError: when a manifest is missing or was changed.
    """
    found: list[Manifest] = []
    for page in head_pages(store, source_identifier(store, source, partition_prefix), dataset):
        found += follow([(head.source, head.key, reference) for head in page for reference in references(head.blocks)])
    return found


def head_pages(store: PartitionStore, source: str, dataset: str) -> Iterator[Sequence[HeadRecord]]:
    """Yield the head records of one dataset, page by page."""
    after: str | None = None
    while page := store.heads(source, dataset=dataset, after=after, limit=PAGE):
        for head in page:
            _check_kind(head)
        yield page
        after = page[-1].key


def follow(starts: Sequence[tuple[str, str, Reference]]) -> list[Manifest]:
    """Return the manifests that ``starts`` name and all that those follow, each once, oldest first within a chain.

    The chains are walked side by side: as many rounds of requests as the longest chain has links.

    :param starts: stored source identifier, partition key and manifest of each chain's newest link.
    """
    chains: list[list[Manifest]] = [[] for _ in starts]
    open_ends = [(i, *start) for i, start in enumerate(starts)]
    seen: set[Reference] = set()
    while open_ends:
        open_ends = [end for end in open_ends if not (end[-1] in seen or seen.add(end[-1]))]  # type: ignore[func-returns-value]
        contents = read_many([reference.address for _, _, _, reference in open_ends])
        following = []
        for (i, source, key, reference), content in zip(open_ends, contents, strict=True):
            manifest = verified(content, reference, source, key)
            chains[i].append(manifest)
            if manifest.follows:
                following.append((i, source, key, manifest.follows))
        open_ends = following
    return [manifest for chain in chains for manifest in reversed(chain)]


def _check_kind(head: HeadRecord) -> None:
    if head.kind != "files":
        raise OutputError(
            f"read the output of {partition_label(head.source, head.key)}",
            f"head record of dataset {head.dataset!r}",
            f"is of kind {head.kind!r}, not files",
            "Update this package",
        )
