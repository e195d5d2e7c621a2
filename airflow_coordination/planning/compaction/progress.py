"""How far the compaction of a dataset is, as Druid's status says it: of a search, or of sums that are kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from airflow_coordination.planning.compaction.search import Found, Group, Reason
from airflow_coordination.protocol.beside.chunk_sums import ChunkState, ChunkTotals


@dataclass(frozen=True, slots=True)
class Amount:
    """So much of a dataset.

    :param bytes: their sum.
    :param intervals: different chunks.
    :param heads: what partitions have published (Druid: segments).
    """

    bytes: int = 0
    intervals: int = 0
    heads: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.bytes + other.bytes, self.intervals + other.intervals, self.heads + other.heads)


@dataclass(frozen=True, slots=True)
class Progress:
    """What of a dataset waits, is done, and is passed over.

    :param awaiting: what a later run takes.
    :param compacted: what is done; what this run has begun is counted as done.
    :param skipped: what no run takes as it is now.
    """

    awaiting: Amount
    compacted: Amount
    skipped: Amount

    @property
    def percent(self) -> float:
        """How much of what can be compacted is, by bytes; 100 of nothing."""
        whole = self.awaiting.bytes + self.compacted.bytes
        return 100 * self.compacted.bytes / whole if whole else 100.0


def progress(found: Found, submitted: Collection[Group] = ()) -> dict[str, Progress]:
    """Return how far each dataset is that has anything, and is not switched off.

    :param submitted: the groups that this run has begun.
    """
    begun = set(map(id, submitted))
    waits = [group for group in found.groups if id(group) not in begun]
    begins = [group for group in found.groups if id(group) in begun]
    skipped = [group for group in found.left if group.reason is not Reason.DISABLED]
    names = dict.fromkeys(group.dataset for group in (*found.groups, *found.done, *skipped))
    return {
        name: Progress(_amount(waits, name), _amount((*found.done, *begins), name), _amount(skipped, name))
        for name in names
    }


def _amount(groups: Iterable[Group], dataset: str) -> Amount:
    mine = [group for group in groups if group.dataset == dataset]
    intervals = {group.interval for group in mine}
    return Amount(sum(group.bytes for group in mine), len(intervals), sum(len(group.heads) for group in mine))


def of_totals(totals: Iterable[ChunkTotals]) -> dict[str, Progress]:
    """Return how far each dataset is by the sums that are kept of its chunks, in originals' bytes.

    Of a chunk that is merged in part, the part that is counts as done; it awaits a run itself.
    """
    found: dict[str, Progress] = {}
    for each in totals:
        before, mine = found.get(each.dataset, Progress(Amount(), Amount(), Amount())), _of_state(each)
        found[each.dataset] = Progress(
            before.awaiting + mine.awaiting, before.compacted + mine.compacted, before.skipped + mine.skipped
        )
    return found


def _of_state(totals: ChunkTotals) -> Progress:
    none, whole = Amount(), Amount(totals.bytes_before, totals.chunks, totals.heads)
    if totals.state == ChunkState.MERGED:
        return Progress(none, whole, none)
    if totals.state == ChunkState.LEFT_OUT:
        return Progress(none, none, whole)
    if totals.state != ChunkState.PARTLY:
        return Progress(whole, none, none)
    left = min(totals.uncovered_bytes, totals.bytes_before)
    heads = min(totals.uncovered_heads, totals.heads)
    done = Amount(totals.bytes_before - left, 0, totals.heads - heads)
    return Progress(Amount(left, totals.chunks, heads), done, none)
