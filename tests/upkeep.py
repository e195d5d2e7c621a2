"""A dataset of lines, its readers and its compaction, without Spark: what is tried here are walks, leases and files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_coordination.leases import Lease, SourceCoordinator
from airflow_coordination.outputs import Attempt, Manifest, published_manifests
from airflow_coordination.outputs.heads.pages import head_pages
from airflow_coordination.outputs.heads.standing import Standing
from airflow_coordination.outputs.manifests import Reference, digest_of
from airflow_coordination.outputs.merging import Merge, check_walk, gathered, given_up, group_key
from airflow_coordination.outputs.origins import COLUMN, Merged
from airflow_coordination.outputs.overlays import Overlays, merged_source
from airflow_coordination.outputs.published import read_overlays, source_identifier
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.systems.objects.storage import join, read_many, write_bytes
from airflow_coordination.values.blocks import Block, Mode

SOURCE, DATASET = "flights", "clean"
Rows = Sequence[Any]


@dataclass(slots=True)
class Dataset:
    """Partitions of one source that publish lines, and the groups that merge them.

    :param store: of both.
    :param root: of all output.
    """

    store: PartitionStore
    root: Path | str
    owner: str = "a test"

    def ingest(self, **settings: Any) -> SourceCoordinator:
        """Return who creates and publishes partitions."""
        return SourceCoordinator(self.store, SOURCE, self.owner, **settings)

    def groups(self, **settings: Any) -> SourceCoordinator:
        """Return who creates and works groups."""
        return SourceCoordinator(self.store, merged_source(SOURCE), self.owner, **settings)

    def attempt(self, lease: Lease) -> Attempt:
        """Return a directory for a tenure's blocks."""
        return Attempt(str(self.root), lease.partition.source, lease.key, lease.fence, self.store.store_id)

    def block(
        self,
        lease: Lease,
        rows: Rows,
        mode: Mode = "replace",
        follows: Block | None = None,
        attempt: Attempt | None = None,
    ) -> Block:
        """Write a block of rows."""
        attempt = attempt or self.attempt(lease)
        opened = attempt.open(DATASET)
        _write(opened.path, rows)
        reference = Reference(follows.address, follows.digest) if follows else None
        return attempt.finish(opened, mode=mode, follows=reference, file_format="json", measure=None)

    def heads(self, keys: Iterable[str] | None = None) -> list[HeadRecord]:
        """Return what partitions have published, of all of them or of some: those of no block are left out."""
        wanted = None if keys is None else set(keys)
        return [head for page in self.standing().pages() for head in page if wanted is None or head.key in wanted]

    def head_records(self) -> list[HeadRecord]:
        """Return head records as they are stored outside of branches, those of no block, too."""
        pages = head_pages(self.store, source_identifier(self.store, SOURCE, None), DATASET)
        return [head for page in pages for head in page]

    def standing(self) -> Standing:
        """Return what partitions have published, as compaction reads it."""
        return Standing(self.store, source_identifier(self.store, SOURCE, None), DATASET)

    def overlays(self) -> Overlays:
        """Return overlays as they are."""
        return read_overlays(self.store, SOURCE, DATASET)

    def rows(self) -> Counter[str]:
        """Return what readers find, each row with how often it is there."""
        return Counter(
            line for manifest in published_manifests(self.store, SOURCE, DATASET) for line in lines(manifest)
        )

    def merged(self, lease: Lease, overlays: Overlays, heads: Sequence[HeadRecord]) -> Manifest:
        """Write the overlay of what was read: all of it that this group has, or may take."""
        merge = gathered(heads, overlays)
        attempt = self.attempt(lease)
        opened = attempt.open(DATASET)
        _write(opened.path, rows_of(merge), raw=True)
        attempt.finish(opened, file_format="json", merged=Merged(covers=merge.origins), allow_empty=True)
        return attempt.finished[-1]

    def merge(self, lease: Lease, keys: Iterable[str] | None = None) -> Manifest:
        """Read, merge and check as a worker does; the ending is left to the caller."""
        overlays = self.overlays()
        heads = self.heads(keys)
        manifest = self.merged(lease, overlays, heads)
        check_walk(lease.key, manifest, overlays.of(lease.key), overlays, self.heads())
        return manifest

    def give_up(self, lease: Lease) -> Manifest | None:
        """Return an empty overlay, if later epochs have everything."""
        overlays = self.overlays()
        present = overlays.of(lease.key)
        assert present is not None
        return self.merged(lease, overlays, []) if given_up(lease.key, present, overlays, self.heads()) else None


def group(part: int = 0, epoch: int = 1) -> str:
    """Return the key of a group."""
    return group_key(epoch, DATASET, "2013-01-01T00:00:00Z", part)


def _write(directory: str, rows: Rows, *, raw: bool = False) -> None:
    text = "".join(f"{row if raw else json.dumps({'row': row})}\n" for row in rows).encode()
    write_bytes(join(directory, f"part-0-{digest_of(text)[:16]}.json"), text)  # Spark's names are unique, too


def lines(manifest: Manifest) -> list[str]:
    """Return the rows of a manifest that count, without the numbers of their origins."""
    return [row for number, row in _numbered(manifest) if manifest.met is None or number in manifest.met]


def _numbered(manifest: Manifest) -> list[tuple[int | None, str]]:
    found: list[tuple[int | None, str]] = []
    for content in read_many([join(manifest.directory, file.path) for file in manifest.files]):
        if not isinstance(content, bytes):
            raise content
        for line in content.splitlines():
            row = json.loads(line)
            found.append((row.get(COLUMN), row["row"]))
    return found


def rows_of(merge: Merge) -> list[str]:
    """Return the lines of merged files, each with the number of its origin."""
    rows = [(number, row) for manifest, number in merge.originals for row in lines(manifest)]
    for manifest, numbers in merge.overlays:
        rows += [(numbers[old], row) for old, row in _numbered(manifest) if old in numbers]
    return [json.dumps({"row": row, COLUMN: number}) for number, row in rows]
