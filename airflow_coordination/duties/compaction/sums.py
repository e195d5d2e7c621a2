"""The sums of chunks as a plan has seen them, for people to look at: the board, and who asks the store.

They are of what shows of each partition, hidden or not. What lies aside in branches, and what branches hide, is merged
and planned with, and counted nowhere here but in the bytes of overlays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from airflow_coordination.duties.compaction.plan import Plan
from airflow_coordination.duties.compaction.snapshot import Seen, Snapshot
from airflow_coordination.outputs.membership import dead_rows, keys_of, named
from airflow_coordination.outputs.merging import epoch_of
from airflow_coordination.outputs.overlays import Overlay
from airflow_coordination.planning.compaction.search import TO_DO, Group, Reason
from airflow_coordination.protocol.beside.chunk_sums import UNBOUNDED, ChunkState, ChunkSums
from airflow_coordination.protocol.results import HeadRecord

_NOT_NOW: Final = frozenset(Reason) - TO_DO - {Reason.DONE}


def sums(made: Plan, seen: Snapshot) -> Iterator[ChunkSums]:
    """Yield the sums of each chunk; what has no interval, or an open one, is one of its dataset.

    :param made: the plan.
    :param seen: what it was made from.
    """
    groups = (*made.found.groups, *made.found.left, *made.found.done)
    together: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        place = str(group.chunk) if group.chunk.is_bounded else UNBOUNDED  # one row is kept of all that are open
        together.setdefault((group.dataset, place), []).append(group)
    found = {dataset: _Found(seen.datasets[dataset]) for dataset in {name for name, _ in together}}
    for (dataset, _), row in together.items():
        yield _Chunk(row, found[dataset]).sums()


class _Found:
    """What was read of a dataset, by the keys of its partitions: looked through once, not for each chunk."""

    def __init__(self, seen: Seen) -> None:
        self._heads, self._shown = {head.key: head for head in seen.heads}, seen.shown
        self._overlays: dict[str, dict[int, Overlay]] = {}
        for number, overlay in enumerate(seen.overlays.row):
            for key in keys_of(overlay):
                self._overlays.setdefault(key, {})[number] = overlay

    def heads(self, keys: Iterable[str]) -> list[HeadRecord]:
        """Return the head records of partitions."""
        return [self._heads[key] for key in keys if key in self._heads]

    def shown(self, heads: Iterable[HeadRecord]) -> list[HeadRecord]:
        """Return what shows of each head record, those left out of which nothing does."""
        return [shows for head in heads if (shows := self._shown.get(head.key, head))]

    def overlays(self, keys: Iterable[str]) -> list[Overlay]:
        """Return the overlays that have rows of partitions, each once, in their order: the last one has a block."""
        found: dict[int, Overlay] = {}
        for key in keys:
            found |= self._overlays.get(key, {})
        return [found[number] for number in sorted(found)]


class _Chunk:
    """One chunk, of all parts."""

    def __init__(self, groups: Sequence[Group], found: _Found) -> None:
        self._groups = groups
        names = {str(head.name) for group in groups for head in group.heads}
        all_heads = found.heads(names)
        self._heads = found.shown(all_heads)
        self._overlays = found.overlays(names)
        self._kept, self._named = named(all_heads), named(self._heads)
        self._stands_for = {origin.place for one in self._overlays for origin in one.covers}

    def sums(self) -> ChunkSums:
        """Return its sums. How many files blocks have that no overlay stands for only their manifests know."""
        first = self._groups[0]
        bare = [head for head in self._heads if not self._is_covered(head)]
        merged = sum(one.manifest.size for one in self._overlays)
        bare_bytes = sum(head.bytes for head in bare)
        newest = max(self._overlays, key=lambda one: (epoch_of(one.key), one.key), default=None)
        bounded = first.chunk.is_bounded
        return ChunkSums(
            dataset=first.dataset,
            chunk_start=first.chunk.start if bounded else None,
            chunk_end=first.chunk.end if bounded else None,
            state=self._state(bare),
            heads=len(self._heads),
            uncovered_heads=len(bare),
            rows=sum(head.rows for head in self._heads),
            dead_rows=sum(dead_rows(one, self._kept) for one in self._overlays),
            files_before=None if bare else self._files_before(),
            bytes_before=sum(head.bytes for head in self._heads),
            uncovered_bytes=bare_bytes,
            files_now=None if bare else sum(len(one.manifest.files) for one in self._overlays),
            bytes_now=merged + bare_bytes,
            merged_at=max((one.published_at for one in self._overlays if one.published_at), default=None),
            reason=str(first),
            epoch=epoch_of(newest.key) if newest else None,
            group_key=newest.key if newest else None,
        )

    def _is_covered(self, head: HeadRecord) -> bool:
        return named([head]) <= self._stands_for

    def _state(self, bare: Sequence[HeadRecord]) -> ChunkState:
        if not bare and self._overlays:
            return ChunkState.MERGED
        if all(group.reason in _NOT_NOW for group in self._groups):
            return ChunkState.LEFT_OUT
        return ChunkState.PARTLY if self._overlays else ChunkState.FRESH

    def _files_before(self) -> int:
        found = {origin.place: origin.files for one in self._overlays for origin in one.covers}
        return sum(files for place, files in found.items() if place in self._named)
