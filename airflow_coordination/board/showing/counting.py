"""How far the partitions of a branch are: counted anew for each look, and less often where there are many of them."""

from __future__ import annotations

from threading import Lock
from time import monotonic
from typing import Final

from airflow_coordination.board.counting import LIFE, SHARE
from airflow_coordination.protocol.beside.documents import BranchCounts
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore

MANY: Final = 1_000
"""Partitions of a branch from which on its counts are kept for a while."""
_MOST_KEPT: Final = 1_000
_Branch = tuple[PartitionStore, str, int]


class BranchCounter:
    """Counts branches, and keeps the counts of large ones for all who look, as the counts of sources are kept."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[_Branch, tuple[BranchCounts, float]] = {}

    def counts(self, store: PartitionStore, source: str, number: int) -> BranchCounts | None:
        """Return how far a branch is, ``None`` where the store cannot tell.

        :param source: the stored identifier.
        """
        branches, branch = parts_of(store).branches, (store, source, number)
        if branches is None:
            return None
        with self._lock:
            known, until = self._kept.get(branch, (None, 0.0))
        began = monotonic()
        if known is not None and began < until:
            return known
        found = branches.branch_counts(source, number)
        self._keep(branch, found, monotonic() - began)
        return found

    def _keep(self, branch: _Branch, found: BranchCounts, took: float) -> None:
        with self._lock:
            if found.partitions < MANY or len(self._kept) >= _MOST_KEPT:
                self._kept.pop(branch, None)
            else:
                self._kept[branch] = found, monotonic() + max(LIFE, SHARE * took)


BRANCHES: Final = BranchCounter()
"""The one of this process."""
