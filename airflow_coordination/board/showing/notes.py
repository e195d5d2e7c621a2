"""What a view says of partitions, head records and chunks, in the words of the API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from airflow_coordination.board.models import BranchNote
from airflow_coordination.outputs.heads.showing import read_view
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.view.showing import dataset_of, of_dataset, unseen
from airflow_coordination.planning.view.view import EMPTY, View
from airflow_coordination.protocol.beside.chunk_sums import ChunkSums
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord


def view_for(store: PartitionStore, partitions: Sequence[Partition]) -> View:
    """Return the view of these partitions' source if one of them runs in a branch: nobody else needs it read."""
    found = next((each.source for each in partitions if each.branch is not None), None)
    return EMPTY if found is None else read_view(store, found)


def branch_note(view: View, number: int | None) -> BranchNote | None:
    """Return which branch that is, ``None`` for none."""
    return None if number is None else BranchNote(number=number, state=view.state_of(number).value)


def why_unseen(view: View, head: HeadRecord, heads: Iterable[HeadRecord]) -> str | None:
    """Return why readers do not see a head record, ``None`` if they do: the words of ``show``.

    :param heads: all head records of its partition.
    """
    if not head.blocks:
        return "it is empty"
    return unseen(view, head, of_dataset(heads, dataset_of(head)))


def hidden_part(view: View, chunk: ChunkSums) -> str | None:
    """Return whether readers do not see a chunk, or a part of it; ``None`` where they see all of it."""
    mine = interval_of_chunk(chunk)
    if mine is None:
        return None
    states = {
        (each.state.value, each.interval.contains(mine))
        for each in view.hidden
        if each.dataset == chunk.dataset and each.interval.overlaps(mine)
    }
    whole = sorted(state for state, all_of_it in states if all_of_it)
    return whole[-1] if whole else "partly hidden" if states else None


def begun_in(view: View, chunk: ChunkSums) -> list[int]:
    """Return the branches that have begun and replace something of a chunk."""
    mine = interval_of_chunk(chunk)
    return [
        branch.number
        for branch in view.branches
        if branch.begun and mine is not None and branch.interval is not None and branch.interval.overlaps(mine)
    ]


def interval_of_chunk(chunk: ChunkSums) -> Interval | None:
    """Return of which time a chunk is, ``None`` for one without an interval."""
    if chunk.chunk_start is None or chunk.chunk_end is None:
        return None
    return Interval(chunk.chunk_start, chunk.chunk_end)
