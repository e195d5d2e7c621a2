"""What compaction merges of a partition: whatever it has published that may show, in the base and in any branch.

A roll back shows again what a branch has hidden. So what a branch hides is merged and kept like what shows, until it is
emptied. All head records that a partition has of one dataset are one here, which names the blocks of each; readers
still take of them those that show, from wherever these rows are. Its ``rows`` and ``bytes`` are of what shows, hidden
or not, for people; what there is to merge are its blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from airflow_coordination.outputs.heads.pages import head_pages, read_aside, with_aside
from airflow_coordination.outputs.heads.showing import read_view
from airflow_coordination.planning.view.showing import branch_of, newest
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.times import Span

MOST_BY_KEY = 20
"""So many head records are read one by one; where there are more, all of the dataset are read in pages."""


class Standing:
    """The head records of one dataset with those of its branches, which are read when this is made.

    Those of branches come first, the base later, as readers read them.

    :param store: the store.
    :param identifier: the stored identifier of the source.
    :param dataset: as users name it.
    """

    def __init__(self, store: PartitionStore, identifier: str, dataset: str) -> None:
        self._store, self._identifier, self._dataset = store, identifier, dataset
        self.view: View = read_view(store, identifier)
        """What readers see, as it was read before."""
        self.shown: dict[str, HeadRecord | None] = {}
        """What shows of each partition that has something in a branch, ``None`` = nothing: known once it was read."""
        self._aside = read_aside(store, identifier, dataset, (branch.number for branch in self.view.branches))

    def pages(self, within: Span | None = None) -> Iterator[list[HeadRecord]]:
        """Yield what partitions have, page by page, each once; those of no block are left out.

        :param within: only those with a moment in common with it, and those that have no interval.
        """
        if not self._aside:
            for page in head_pages(self._store, self._identifier, self._dataset, within):
                yield [head for head in page if head.blocks]
            return
        # What a branch has may be of another time than what the base has: all are looked at.
        for rows in with_aside(head_pages(self._store, self._identifier, self._dataset), self._aside):
            yield self._within(rows, within)

    def of(self, keys: set[str]) -> Iterator[HeadRecord]:
        """Yield what some partitions have."""
        if len(keys) > MOST_BY_KEY:
            for page in self.pages():
                yield from (head for head in page if head.key in keys)
            return
        for key in sorted(keys):
            base = self._store.heads(self._identifier, dataset=self._dataset, key=key)
            yield from self._within([[*base, *self._aside.get(key, ())]], None)

    def _within(self, rows: Sequence[Sequence[HeadRecord]], within: Span | None) -> list[HeadRecord]:
        found = [self._as_one(heads) for heads in rows if any(head.blocks for head in heads)]
        return [head for head in found if head.may_lie_in(within)]

    def _as_one(self, heads: Sequence[HeadRecord]) -> HeadRecord:
        """Return one head record with the blocks of all, of the time of the newest, and with the rows that show."""
        full = [head for head in heads if head.blocks]
        shows = newest(self.view, heads)  # it may be of no block, where the partition was retired in a branch
        if any(branch_of(head) is not None for head in heads):
            self.shown[full[0].key] = shows if shows and shows.blocks else None
        published = [head.published_at for head in full if head.published_at]
        return replace(
            newest(self.view, full) or full[0],
            dataset=self._dataset,
            blocks=tuple(block for head in full for block in head.blocks),
            rows=shows.rows if shows else 0,
            bytes=shows.bytes if shows else 0,
            published_at=max(published, default=None),
        )
