"""The acquisition order over the index: crashed, reopened, new; asked for class by class, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from operator import attrgetter
from typing import Final

from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb.candidate import Candidate
from airflow_coordination.stores.dynamodb.index_keys import CRASHED, DELAYED
from airflow_coordination.stores.dynamodb.queue import Queue
from airflow_coordination.values.status import PartitionStatus, Rank

Batches = Iterator[list[Candidate]]
_END: Final[tuple[None, list[Candidate]]] = (None, [])


class _Waiting:
    """The UNASSIGNED rows, taken class by class in the order they stand."""

    def __init__(self, pieces: Iterator[tuple[Rank, list[Candidate]]]) -> None:
        self._pieces = pieces
        self._next: tuple[Rank | None, list[Candidate]] | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more of it waits, as far as it was asked."""
        return self._next is _END

    def take(self, rank: Rank) -> list[Candidate]:
        """Return the next piece if it is of this class, otherwise nothing."""
        if self._next is None:
            self._next = next(self._pieces, _END)
        found, rows = self._next
        if found is not rank:
            return []
        self._next = None
        return rows


def batches(queue: Queue, call: Call, source: str, past: datetime, size: int, *, new_first: bool = False) -> Batches:
    """Yield candidates in the acquisition order, in batches that are sorted in themselves.

    The first batch of a class is exact up to ``size`` partitions that came due since the last sweep; behind it,
    partitions that only a race or an old index let pass follow page by page. Where nothing waits, a page of those that
    others hold is looked through on the way (:meth:`Queue.due`).

    :param new_first: start at "new", then the crashed and the reopened (promise S9: no class starves).
    """
    if new_first:
        yield from _of(_Waiting(queue.waiting(call, source, past, size, DELAYED)), Rank.NEW)
    waiting = _Waiting(queue.waiting(call, source, past, size, CRASHED))

    def due(status: PartitionStatus) -> Batches:
        yield from queue.due(call, source, status, past, size, watch=waiting.is_over)

    yield from _of(waiting, Rank.CRASHED, due(PartitionStatus.ASSIGNED))
    yield from _of(waiting, Rank.REOPENED, due(PartitionStatus.CLOSED))
    if not new_first:
        yield from _of(waiting, Rank.NEW)


def _of(waiting: _Waiting, rank: Rank, due: Batches | None = None) -> Batches:
    """Yield one class: what waits in it, together with what came due for it."""
    more = due or iter(())
    while batch := [*waiting.take(rank), *next(more, [])]:
        yield sorted(batch, key=attrgetter("order"))
