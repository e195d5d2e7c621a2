"""A walk through the rest of the protocol on one source, the same on every engine: each step has its own heading.

What stands among the operations of the page is not counted here once more.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.beside.chunk_sums import ChunkSums
from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.accounting import Accounting, SinkCounts
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.errors import PartitionNotOwnedError
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Randomness

CLEAN = Block("clean", "file:///out/clean/manifest", "digest", rows=3, bytes=9)
RAW = Block("raw", "file:///out/raw/manifest", "digest", rows=5, bytes=25)
SOURCE = "flights|PARTITION"

P = ParamSpec("P")
T = TypeVar("T")


def _got(lease: T | None) -> T:
    assert lease is not None
    return lease


class Counted(Randomness):
    """Ids in the order they are asked for; no chance, no jitter, nothing moved."""

    def __init__(self) -> None:
        super().__init__()
        self.new_first = False
        self._ids = 0

    def op_id(self) -> str:
        self._ids += 1
        return f"{self._ids:024d}"

    def chance(self, probability: float) -> bool:
        return self.new_first

    def jitter(self, seconds: float, share: float = 0.2) -> float:
        return seconds

    def rotated(self, items: list[Any]) -> list[Any]:
        return items

    def shuffle(self, items: list[Any]) -> None:
        """Leave them."""


class Walk:
    """The walk on one store.

    :param store: set up, and new.
    :param clock: the store's and the host's.
    :param heading: called with the name of each step before it is made, and with nothing after it.
    """

    def __init__(self, store: PartitionStore, clock: FakeClock, heading: Callable[[str], None]) -> None:
        self.store, self.clock, self._heading = store, clock, heading
        self.randomness = Counted()
        self.one = self._coordinator(1)

    def _coordinator(self, try_number: int, task: str = "task") -> SourceCoordinator:
        return SourceCoordinator(
            self.store,
            source="flights",
            owner=f"host/dag/run/{task}/0/{try_number}",
            settings=Settings(max_lost_leases=2),
            clock=self.clock,
            randomness=self.randomness,
        )

    def step(self, name: str, call: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Make one step under its heading."""
        self._heading(name)
        try:
            return call(*given, **named)
        finally:
            self._heading("")

    def lease(self, key: str | None = None) -> Lease:
        """Acquire something, under no heading."""
        return _got(self.one.acquire_partition(key) if key else self.one.get_next_partition())

    def make(self) -> None:
        """Walk."""
        self._create()
        self._own(self._acquire())
        self._end()
        self._end_and_acquire()
        self._take_over()
        self._sweep()
        self._act()
        self._read()
        self._account()
        self._follow_up()
        self._sums()
        self._families()
        self._want()
        self._ended()

    def _create(self) -> None:
        self.step("the clock", self.store.now)
        self.step("register a source", self.store.register, SOURCE, {"output_root": "file:///out"})
        self.one.create_partitions(["first", "second", "third", "fourth", *(f"day-{day:02}" for day in range(12))])
        self.step("create partitions", self.one.create_partitions, ["day-12", "day-13"])
        self.step("create partitions that exist", self.one.create_partitions, ["day-00", "day-01"])

    def _acquire(self) -> Lease:
        [_, _, _, _, _, hint, *_] = self.step("list what is claimable", self.one.claimable)
        _got(self.one.get_next_partition(hint=hint))
        _got(self.step("acquire by a hint that is used up", self.one.get_next_partition, hint=hint))
        lease = _got(self.one.get_next_partition())
        self.one.complete(_got(self.step("complete and get the next", self.one.complete_and_get_next, lease)))
        return _got(self.one.acquire_partition("day-05"))

    def _own(self, lease: Lease) -> None:
        lease = self.one.renew(lease)
        lease = self.one.begin(lease.key, lease.fence)
        lease = self.step("save", self.one.save_progress_state, lease, {"row": 1}, blocks=[CLEAN])
        _got(self.step("adopt", self._coordinator(2).tries.adopt, lease.key, lease.fence))
        later = self._coordinator(3)
        lease = _got(self.step("retake", later.tries.retake, lease.key))
        self.step("complete, with blocks of two datasets", later.complete, lease, blocks=[RAW])

    def _end(self) -> None:
        self.one.complete(self.lease())
        self.step(
            "close with a state", self.one.close, self.lease(), reopen_after=timedelta(minutes=5), state={"row": 2}
        )
        self.step("fail", self.one.fail, self.lease(), "broken")
        self.one.give_up(self.lease())
        self.step("give up for a while", self.one.give_up, self.lease(), retry_after=timedelta(minutes=5))

    def _end_and_acquire(self) -> None:
        following = self.one.complete_and_get_next
        self.clock.advance(timedelta(seconds=2))
        lease = _got(self.step("complete and get the next, which returned", following, self.lease()))
        self.one.give_up(lease)
        lease = _got(self.step("complete and get the next, just after that", following, self.lease()))
        name = "complete with a block and get the next by hint"
        self.one.give_up(_got(self.step(name, following, lease, blocks=[CLEAN], hint="day-10")))

    def _want(self) -> None:
        other, minute = self._coordinator(1, "other"), timedelta(minutes=1)
        lease = self.lease()
        self.step("ask for a lease", other.workers.ask, lease.partition, minute)
        self.step("hand a lease over", self.one.workers.hand_over, lease)
        lease = self.lease()
        other.workers.ask(lease.partition, minute)
        self.clock.advance(minute * 2)
        self.one.renew(lease)
        self.one.give_up(_got(self.step("steal a lease", other.workers.steal, lease.partition)))

    def _account(self) -> None:
        sinks = {"search": SinkCounts(owed=2, delivered=2)}
        counted = Accounting(read=3, delivered_everywhere=2, dropped={"cancelled": 1}, sinks=sinks)
        lease = self.step(
            "save, with its accounting", self.one.save_progress_state, self.lease(), {"row": 2}, (), counted
        )
        self.step("complete with a block and its accounting", self.one.complete, lease, [CLEAN], counted=counted)

    def _follow_up(self) -> None:
        self.step("complete, and note what follows", self.one.complete, self.lease(), then='{"do":1}')
        [note] = self.step("follow-ups", self.store.follow_ups, SOURCE, None, None, 5)
        self.step("follow-ups of one, from a place on", self.store.follow_ups, SOURCE, note.key, note, 5)
        self.step("clear a follow-up", self.one.follow_ups.clear_follow_up, note)
        self.one.complete(self.lease(), then='{"do":2}')
        [note] = self.one.follow_ups.follow_ups()
        self.step("forget a follow-up", self.one.follow_ups.forget_follow_up, note, by="ana", why="its bucket is gone")

    def _sums(self) -> None:
        rows = [ChunkSums(dataset="clean"), ChunkSums(dataset="raw")]
        self.step("write sums of two chunks", self.one.looking.chunks.put, rows)
        self.step("sums of chunks", self.one.looking.chunks.page)
        self.step("sums of one dataset, from a place on", self.one.looking.chunks.page, "raw", ("raw", ""))
        self.step("what sums of chunks add up to", self.one.looking.chunks.totals)
        self.step("forget sums of a dataset", self.one.looking.chunks.forget, "clean")

    def _ended(self) -> None:
        begin = self.clock.now()
        self.clock.advance(timedelta(minutes=6))
        self.step("count what ended", self.one.looking.ended.count_on, begin)
        self.step("sums of what ended", self.one.looking.ended.newest, 288)
        self.clock.advance(timedelta(minutes=1))
        self.step("count on what ended", self.one.looking.ended.count_on, begin)
        self.clock.advance(timedelta(days=3))
        self.step("forget sums of what ended", self.one.looking.ended.forget_old, self.clock.now())

    def _families(self) -> None:
        self.one.create_partitions(["north", "south"])
        both = PartitionIdentifier("both", parents=["north", "south"])
        self.step("create a partition with two parents", self.one.create_partitions, [both])
        self.step("complete one of them", self.one.complete, self.lease("north"))
        self.step("its children", self.store.children, SOURCE, "north", None, 5)
        self.step("complete the other one and get the next", self.one.complete_and_get_next, self.lease("south"))
        self.one.create_partitions(["east", PartitionIdentifier("west", parents=["east"])])
        self.step("explain what waits", self.one.explain, "west")
        self.step("finish", self.one.people.finish, "east", by="ana", why="golden")
        self.step("clean up what the source knows no more", self.one.cleaning.clean_up, gone=["east"])
        late = PartitionIdentifier("late", parents=["east"])
        self.step("create a child of what was cleaned up", self.one.create_partitions, [late])

    def _take_over(self) -> None:
        lost = self.one.renew(self.lease("day-12"))
        self.clock.advance(timedelta(minutes=11))
        _got(self.step("acquire an expired lease", self.one.acquire_partition, "day-12"))
        _got(self.step("acquire, where something was lost", self.one.get_next_partition))
        with pytest.raises(PartitionNotOwnedError):
            self.step("renew a lease that was taken over", self.one.renew, lost)

    def _sweep(self) -> None:
        for key in ("day-10", "day-11"):
            self.one.renew(self.lease(key))
        self.clock.advance(timedelta(minutes=11))
        self.step("sweep", self.one.sweep)

    def _act(self) -> None:
        self.one.create_partitions(["held"])
        self.lease("held")
        for name in ("release", "park", "reopen", "reset", "retract", "delete"):
            self.step(name, getattr(self.one.people, name), "held", by="ada", why="asked")
        self.step("create a deleted partition again", self.one.create_partitions, ["held"])

    def _read(self) -> None:
        self.step("get", self.store.get, SOURCE, "day-01")
        self.step("find by nonce", self.store.find_nonce, SOURCE, "0" * 24)
        self.step("find by task", self.one.tries.held_by_task)
        self.step("page", self.store.page, SOURCE, None, None, 5)
        for status in PartitionStatus:
            self.step(f"page of {status}", self.store.page, SOURCE, status, "day", 5)
        self.step("page of parked", self.store.page, SOURCE, None, None, 5, parked=True)
        self.step("page of closed ones", self.store.page, SOURCE, PartitionStatus.CLOSED, None, 5, parked=False)
        self.step("counts", self.store.counts, SOURCE)
        self.step("outlook", self.store.outlook, SOURCE)
        self.step("heads", self.store.heads, SOURCE)
        self.step("heads of one", self.store.heads, SOURCE, "clean", "day-05")
        self.step("heads from inside one", self.store.heads, SOURCE, after="day-05", after_dataset="clean")
        self.step("audit", self.store.audit, SOURCE, "held")
        self.step("sources", self.store.sources)
