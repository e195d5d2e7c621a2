"""The side writes of a step, beside its partition and in the same commit: values that each store knows how to write.

A rule names them (:mod:`~airflow_coordination.protocol.rules`); no store asks which write they belong to.

What an ending publishes are the head records after it, by the *generation* rule of ``protocol.md``: a publication
replaces the partition's earlier output of a dataset, but adds to it when its progress was carried over from that
publication (same generation), or when the publisher says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from airflow_coordination.protocol.follow_up import FORGET, FollowUp, Forget
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import OF_THE_SOURCE
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.writes import SET_INTERVAL, Act, Action, End, Place, SetInterval, SetPause
from airflow_coordination.values.blocks import Block, merge
from airflow_coordination.values.failing import alike, mark_of
from airflow_coordination.values.names import branch_dataset, holds_partitions
from airflow_coordination.values.status import Outcome, PartitionStatus
from airflow_coordination.values.times import Span

MAX_HISTORY_ERROR: Final = 500
"""Characters of an error that the history keeps of each failure."""
MAX_COUNT: Final = 2**63 - 1
"""What a column of a database holds: a sum over datasets may be larger, and must not refuse the ending."""


@dataclass(frozen=True, slots=True)
class PutHeads:
    """Head records after an ending, in full: new, or in the place of older ones."""

    heads: tuple[HeadRecord, ...]


@dataclass(frozen=True, slots=True)
class EmptyHeads:
    """Head records of a partition name no block any more; who published them stays in them.

    :param source: the stored source identifier.
    :param key: the partition key.
    :param datasets: which of them, by the names that they are stored under; ``None`` = all.
    """

    source: str
    key: str
    datasets: tuple[str, ...] | None = None

    def means(self, dataset: str) -> bool:
        """Return whether the head record that is stored under this name is one of them."""
        return self.datasets is None or dataset in self.datasets


@dataclass(frozen=True, slots=True)
class Audit:
    """A line about what a person has done.

    :param source: the stored source identifier.
    :param key: the partition key.
    :param op: the action's operation id.
    :param action: what was done.
    :param by: who did it.
    :param why: what they said.
    :param batch: of which action on many partitions it is a part.
    """

    source: str
    key: str
    op: str
    action: str
    by: str
    why: str
    batch: str | None = None


@dataclass(frozen=True, slots=True)
class TenureEnded:
    """A row of the history: the tenure that ran until this step, if one did.

    Who held it and since when is in the partition as it was before the step, and how it ended in the ring after it;
    only what neither knows is here.

    :param error: why it failed, in short.
    :param rows: rows that it has published.
    :param bytes: bytes that it has published.
    """

    error: str | None = None
    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class PutFollowUp:
    """A note of what follows an ending at its source."""

    follow_up: FollowUp


@dataclass(frozen=True, slots=True)
class CountFailure:
    """A partition more has failed; one of another error than those before begins the count anew.

    It counts once, however often it fails.

    :param source: the stored source identifier.
    :param error: what its error has in common with others (:func:`~.failing.alike`).
    :param mark: stands for the partition (:func:`~.failing.mark_of`).
    """

    source: str
    error: str
    mark: str


@dataclass(frozen=True, slots=True)
class ForgetFailures:
    """A tenure ended well: what failed before it counts no more. It writes nothing where nothing has failed.

    :param source: the stored source identifier.
    """

    source: str


Record = PutHeads | EmptyHeads | Audit | TenureEnded | PutFollowUp | CountFailure | ForgetFailures
_WELL: Final = frozenset({Outcome.COMPLETED, Outcome.CLOSED})


def of_tenure(w: Any) -> Iterator[Record]:
    """Yield the row of a tenure that may have run until this step; nobody asks who ran the supplier, and when."""
    if holds_partitions(w.source):
        yield TenureEnded()


def of_ending(w: End) -> Iterator[Record]:
    """Yield what an owner's ending writes: the tenure, what it publishes, and what follows it."""
    if holds_partitions(w.source):
        failed = w.outcome is Outcome.FAILED and w.last_error
        error = failed[:MAX_HISTORY_ERROR] if failed else None
        yield TenureEnded(error, min(w.rows, MAX_COUNT), min(w.bytes, MAX_COUNT))
        yield from of_result(w)
    yield from of_output(w)
    if w.then is not None:
        yield PutFollowUp(FollowUp(w.source, w.key, w.fence.token, w.op, w.then))


def of_result(w: End) -> Iterator[Record]:
    """Yield what an ending says of its source: it failed, or not; a tenure that was given up says nothing."""
    if w.outcome is Outcome.FAILED:
        yield CountFailure(w.source, alike(w.last_error, w.key), mark_of(w.key))
    elif w.outcome in _WELL:
        yield ForgetFailures(w.source)


def of_output(w: End | Place) -> Iterator[Record]:
    """Yield what a step publishes, if anything."""
    if w.heads:
        yield PutHeads(w.heads)


def of_action(w: Act) -> Iterator[Record]:
    """Yield what a person's action writes: the tenure that it ends, who did it, and what it takes back."""
    if w.seen.status is PartitionStatus.ASSIGNED:
        yield from of_tenure(w)
    yield Audit(w.source, w.key, w.op, w.action.value, w.by, w.why, w.batch)
    if w.action is Action.RETRACT:
        yield EmptyHeads(w.source, w.key, w.datasets)


def of_forgetting(w: Forget) -> Audit:
    """Return the line about who has taken a note away undone; its operation is that of the ending that wrote it."""
    return Audit(w.note.source, w.note.key, w.note.op, FORGET, w.by, w.why)


def of_interval(w: SetInterval) -> Audit:
    """Return the line about who has said of which time published rows are."""
    return Audit(w.source, w.key, w.op, SET_INTERVAL, w.by, w.why)


def of_pause(w: SetPause) -> Audit:
    """Return the line about who has paused or resumed a source."""
    return Audit(w.source, OF_THE_SOURCE, w.op, "pause" if w.paused else "resume", w.by, w.why)


def by_dataset(blocks: Iterable[Block]) -> dict[str, list[Block]]:
    """Return ``blocks`` grouped by dataset, in their order."""
    grouped: dict[str, list[Block]] = {}
    for block in blocks:
        grouped.setdefault(block.dataset, []).append(block)
    return grouped


def adds(partition: Partition, blocks: Sequence[Block], head: HeadRecord | None) -> bool:
    """Return whether publishing ``blocks`` adds to ``head`` instead of replacing it."""
    if head is None:
        return False
    return head.generation == partition.generation or any(block.mode == "append" for block in blocks)


def added_to(partition: Partition, published: Iterable[Block], heads: Mapping[str, HeadRecord]) -> list[str]:
    """Return the datasets that an ending adds to, or means to.

    :param published: all blocks that it publishes.
    :param heads: the partition's present head records by their stored names, where it may add to them.
    """
    return [
        dataset
        for dataset, blocks in by_dataset(published).items()
        if any(block.mode == "append" for block in blocks)
        or adds(partition, blocks, heads.get(branch_dataset(partition.branch, dataset)))
    ]


def of_an_earlier_life(partition: Partition, head: HeadRecord) -> bool:
    """Return whether a partition that was deleted and created again had published ``head`` before that.

    Only the generation that the creation began can tell: what is there of another one is older. Blocks of it are
    probably made once more now, so nobody can know whether ``"append"`` means to add to them.
    """
    begun_by_creation = partition.generation == partition.create_op
    return begun_by_creation and head.generation != partition.generation and bool(head.blocks)


def may_add(partition: Partition, blocks: Iterable[Block]) -> bool:
    """Return whether the present head records must be known: only then are they read.

    A generation can only have published before when the partition was closed in it.
    """
    return partition.closed_count > 0 or any(block.mode == "append" for block in blocks)


def retracted(head: HeadRecord) -> HeadRecord:
    """Return the head record after a person's retract: of no block, and still there.

    It goes on to name the ending that published, so that a late sender still learns what became of that one. Its time
    is the retract's, so that the collector leaves the blocks to those who are reading them.
    """
    return replace(head, blocks=(), rows=0, bytes=0, published_at=None, accounting_text=None)


def _interval(said: Span | None, added_to: HeadRecord | None) -> tuple[datetime | None, datetime | None]:
    """Return of which time the rows of a head record are: the umbrella of all, and none where that of some is unknown.

    :param said: of the rows that are published now.
    :param added_to: what they are added to, if they do not replace it.
    """
    if said is None:
        return None, None
    if added_to is None or not added_to.blocks:
        return said.start, said.end
    if added_to.interval_start is None or added_to.interval_end is None:
        return None, None
    return min(said.start, added_to.interval_start), max(said.end, added_to.interval_end)


def head_records(
    partition: Partition,
    blocks: Sequence[Block],
    heads: Mapping[str, HeadRecord],
    op: str,
    accounting_text: str | None = None,
    interval: Span | None = None,
    empty: Iterable[str] = (),
) -> tuple[HeadRecord, ...]:
    """Return the head records after an ending that publishes ``blocks``: those of the partition's branch.

    :param partition: the partition whose tenure ends.
    :param blocks: its staged and new blocks.
    :param heads: its present head records by the names they are stored under, where :func:`may_add` asks for them.
    :param op: the ending's operation id.
    :param accounting_text: the partition's totals after the ending.
    :param interval: of which time the rows in ``blocks`` are; ``None`` = unknown.
    :param empty: datasets to which it publishes nothing, which is more than not to publish to them: what it published
        to them before shows no more.
    """
    records = []
    for dataset, published in {**{name: [] for name in empty}, **by_dataset(blocks)}.items():
        stored = branch_dataset(partition.branch, dataset)
        head = heads.get(stored) if published else None
        added_to = head if adds(partition, published, head) else None
        whole = merge(added_to.blocks if added_to else (), published)
        start, end = _interval(interval, added_to)
        records.append(
            HeadRecord(
                source=partition.source,
                dataset=stored,
                key=partition.key,
                blocks=whole,
                rows=sum(block.rows for block in whole),
                bytes=sum(block.bytes for block in whole),
                generation=partition.generation,
                op=op,
                token=partition.token,
                accounting_text=accounting_text,
                interval_start=start,
                interval_end=end,
            )
        )
    return tuple(records)
