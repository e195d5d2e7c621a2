"""Sweeps: what is due becomes claimable, what was lost is taken back; each partition by one conditional update."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

from airflow_coordination.protocol import steps
from airflow_coordination.protocol.results import Swept
from airflow_coordination.protocol.writes import Sweep
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import changes
from airflow_coordination.stores.dynamodb.candidate import Candidate
from airflow_coordination.stores.dynamodb.parallel import side_by_side
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.stores.dynamodb.queue import Queue, first
from airflow_coordination.stores.dynamodb.stragglers import Stragglers
from airflow_coordination.values.status import ASSIGNED, CLOSED, PartitionStatus


class Sweeping:
    """The step that reopens and reclaims.

    :param partitions: the items.
    :param queue: the index.
    """

    def __init__(self, partitions: Partitions, queue: Queue) -> None:
        self._partitions, self._queue = partitions, queue
        self._stragglers = Stragglers(partitions)

    def sweep(self, write: Sweep) -> Swept:
        """Reopen and reclaim what is due, at most ``limit`` of each; what was delayed goes back to its place."""
        call, past = Call("sweep"), self._partitions.moment().past
        source, limit = write.source, write.limit
        work: list[tuple[Callable[[Candidate, Sweep], str], list[Candidate]]] = [
            (self._reopen, first(self._due(call, write, CLOSED, past), limit)),
            (self._reclaim, first(self._due(call, write, ASSIGNED, past), limit)),
            (self._promote, first(self._queue.delayed(call, source, past, limit), limit)),
        ]
        self._queue.watch_completed(call, source)
        done = Counter(side_by_side([partial(step, row, write) for step, rows in work for row in rows]))
        released = self._stragglers.release(source)
        return Swept(done["reopened"], done["reclaimed"], done["parked"], released)

    def _due(self, call: Call, write: Sweep, status: PartitionStatus, past: datetime) -> Iterator[list[Candidate]]:
        return self._queue.due(call, write.source, status, past, write.limit, watch=True)

    def _reopen(self, row: Candidate, write: Sweep) -> str:
        call = Call("reopen", row.seen.key)
        change = changes.reopen(row, write, self._partitions.moment())
        return "left" if self._partitions.change(call, write.source, row.seen.key, change) else "reopened"

    def _promote(self, row: Candidate, write: Sweep) -> str:
        change = changes.promote(row)
        self._partitions.change(Call("queue", row.seen.key), write.source, row.seen.key, change)
        return "promoted"

    def _reclaim(self, row: Candidate, write: Sweep) -> str:
        """Reclaim a lease by what its item says: how its tenure ends, the index does not know."""
        call, at = Call("reclaim", row.seen.key), self._partitions.moment()
        now = self._partitions.bare(call, write.source, row.seen.key)
        if now is None or now.status is not PartitionStatus.ASSIGNED or now.deleted:
            return "left"
        after = steps.reclaim(write, now, at.past)
        if after is None:
            change = changes.follow_renewals(row.seen, row.standing)
            self._partitions.change(call, write.source, now.key, change)
            return "left"
        if self._partitions.change(call, write.source, now.key, changes.replace(now, after, at)):
            return "left"
        self._partitions.history.ended(now, after)
        return "parked" if after.parked else "reclaimed"
