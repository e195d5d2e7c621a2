"""What the collector leaves because of overlays: originals as long as nothing else has their rows, and overlays, too.

Readers take a covered block's rows from its overlay, so an original that is covered may go like a replaced block. Three
things make that safe. The overlay is *published*: what a driver has only written may never count. It was published
longer ago than the margin, so that who began to read before does not need the original any more. And it was read
*before* the head records: whatever group has covered a block when overlays are read, its later overlays cover what
readers meet in its place (rule *walk*, ``merging.check_walk``), so what is decided by them stays right.

Rule *walk* is kept by the worker that merges, not by the store. The second net under it is here: a replaced overlay
stays as long as the walk of any head record would end nowhere without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta

from airflow_coordination.outputs.heads.pages import head_pages
from airflow_coordination.outputs.layout import MANIFEST, place_of
from airflow_coordination.outputs.manifests import Manifest, references
from airflow_coordination.outputs.overlays import NONE
from airflow_coordination.outputs.published import (
    DeadEnd,
    follow,
    read_overlays,
    source_identifier,
    starts_of,
    walks,
)
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.systems.objects.storage import OutputError, join, read_many
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.names import MERGED, partition_label


class Keeping:
    """Decides what stays of one source.

    :param store: the store that holds the source.
    :param source: the source's name.
    :param partition_prefix: the source's prefix.
    """

    def __init__(self, store: PartitionStore, source: str, partition_prefix: str | None) -> None:
        self._store, self._source, self._prefix = store, source, partition_prefix
        self._trusted = NONE
        self.errors: list[str] = []
        """What a person should look at."""

    def trust_overlays(self, older_than: timedelta) -> None:
        """Let go, from now on, of what overlays cover that were published longer ago than ``older_than``.

        Where they cannot be read, none is trusted.
        """
        before = self._store.now() - older_than
        try:
            self._trusted = read_overlays(self._store, self._source, None, self._prefix, published_before=before)
        except OutputError as error:
            self.errors.append(f"no original goes: {error}")

    def followed(self, partition: Partition | None, heads: Iterable[HeadRecord]) -> set[str] | None:
        """Return the places of blocks that readers or the next tenure may follow, ``None`` if that cannot be told."""
        if partition is None:
            return set()
        staged = [(partition.source, partition.key, reference) for reference in references(partition.staged)]
        try:
            found = follow([*staged, *starts_of(heads)], self._trusted)
        except CoordinationError:
            return None
        return {place_of(directory) for manifest in found for directory in manifest.directories}

    def needed(self, blocks: Iterable[str]) -> set[str]:
        """Return those of some directories of blocks that nobody follows, and that must stay all the same.

        They are overlays that stand for something that readers need and find nowhere: each is an error.
        """
        if not self._source.startswith(MERGED):
            return set()
        written = dict(_overlays_in(blocks))
        if not written:
            return set()
        try:
            lost = {(end.reference.digest, end.key): end for end in self._dead_ends()}
        except OutputError as error:
            self.errors.append(f"no replaced overlay goes: {error}")
            return set(written)
        return set(self._told(written, lost))

    def _told(self, written: Mapping[str, Manifest], lost: Mapping[tuple[str, str], DeadEnd]) -> Iterator[str]:
        for address, manifest in written.items():
            origins = manifest.merged.covers if manifest.merged else ()
            needed = [lost[origin.digest, origin.key] for origin in origins if (origin.digest, origin.key) in lost]
            if needed:
                label = partition_label(needed[0].source, needed[0].key)
                more = f" and of {len(needed) - 1} more" if len(needed) > 1 else ""
                problem = f"nothing else has the rows of {label}{more}, which readers do not find"
                self.errors.append(f"{address} stays: {problem}. Reset them, so that their rows are published again")
                yield address

    def _dead_ends(self) -> list[DeadEnd]:
        """Return where the walks of the head records end nowhere that overlays were made for."""
        base = self._source.removeprefix(MERGED)
        overlays = read_overlays(self._store, base, None, self._prefix)
        found: list[DeadEnd] = []
        for page in head_pages(self._store, source_identifier(self._store, base, self._prefix), None):
            walks(starts_of(page), overlays, found)
        return found


def _overlays_in(blocks: Iterable[str]) -> Iterator[tuple[str, Manifest]]:
    """Yield the overlays among directories of blocks; what has no manifest was never finished."""
    row = list(blocks)
    for block, content in zip(row, read_many([join(block, MANIFEST) for block in row]), strict=True):
        if isinstance(content, bytes):
            with suppress(OutputError):
                manifest = Manifest.from_bytes(content, join(block, MANIFEST))
                if manifest.merged:
                    yield block, manifest
