"""What each operation may send and write: the lines of the page `dynamodb-budgets.md`, and how each is measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from airflow_coordination.leases import Lease, PartitionIdentifier, PartitionNotOwnedError, SourceCoordinator
from airflow_coordination.leases.blocks import Block
from airflow_coordination.leases.clock import Randomness
from airflow_coordination.leases.status import ASSIGNED
from airflow_coordination.leases.waiting.conclusion import Until, Waiting, WaitTerms
from airflow_coordination.leases.waiting.observation import Observation
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.streams.fleet import look_at
from airflow_coordination.testing.clock import FakeClock

OWNER = "worker-7.example.org/flights/scheduled__2026-01-31T08:00:00+00:00/drain/12/1"
BLOCK = Block("clean", "file:///out/manifest", "digest", rows=3, bytes=9)
LARGE = {"row": "x" * 600}
HOUR = timedelta(hours=1)


class Order(Randomness):
    """Decides whether acquiring starts at the class "new"."""

    new_first = False

    def chance(self, probability: float) -> bool:
        return self.new_first


class Place:
    """A process at work on a source of its own.

    :param store: as a process has it that has started.
    """

    def __init__(self, store: DynamoDBStore, clock: FakeClock, source: str) -> None:
        self.store, self.clock, self.order = store, clock, Order()
        self.c = SourceCoordinator(store, source, OWNER, clock=clock, randomness=self.order)

    def lease(self, key: str = "flights/2013/01/01") -> Lease:
        """Create a partition, and acquire it by its hint, as a mapped task does."""
        self.c.create_partitions([key])
        lease = self.c.get_next_partition(hint=self.c.claimable()[0])
        assert lease is not None
        self.clock.advance(1)
        return lease


def some_held(at: Place, partitions: int) -> None:
    """Create partitions, of which three are held, two wait to be reopened, and two are parked."""
    at.c.create_partitions(f"{number:04}" for number in range(partitions))
    leases = [at.c.acquire_partition(f"{number:04}") for number in range(partitions - 7, partitions)]
    for number, lease in enumerate(leases):
        assert lease is not None
        if number in (3, 4):
            at.c.close(lease, HOUR)
        elif number > 4:
            at.c.fail(lease, "broken")
            at.c.park(lease.partition.key, by="ana", why="broken")


def joined(at: Place, capacity: int) -> None:
    """Become a member of the source that lasts as long as its lease: nothing renews it beside what is counted."""
    at.c.join(capacity)._heartbeat.stop()


Steps = Iterator[None]
"""What an operation does: counted from the ``yield`` on."""


@dataclass(frozen=True)
class Budget:
    """A line of the table.

    :param operation: what is done.
    :param requests: what is sent, by DynamoDB's operation.
    :param native: units written to the table and to the index, in the layout that this package makes.
    :param theirs: the same in the layout that Data Prepper makes.
    :param steps: does it.
    """

    operation: str
    requests: Counter[str]
    native: tuple[int, int]
    theirs: tuple[int, int]
    steps: Callable[[Place], Steps]

    def row(self) -> str:
        """Return the line of the docs."""
        sent = ", ".join(f"{count} {name}" for name, count in self.requests.items())
        return f"| {self.operation} | {sent} | {_shown(self.native)} | {_shown(self.theirs)} |"


def _shown(units: tuple[int, int]) -> str:
    return f"{units[0]} + {units[1]}" if any(units) else "–"


BUDGETS: list[Budget] = []


def budget(
    operation: str, units: tuple[int, int] = (0, 0), theirs: tuple[int, int] | None = None, **requests: int
) -> Callable[[Callable[[Place], Steps]], Callable[[Place], Steps]]:
    """Add a line to the table; the same in both layouts unless ``theirs`` says otherwise."""

    def add(steps: Callable[[Place], Steps]) -> Callable[[Place], Steps]:
        BUDGETS.append(Budget(operation, Counter(requests), units, theirs or units, steps))
        return steps

    return add


@budget("acquire by hint", (1, 2), UpdateItem=1)
def acquire_by_hint(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    [hint] = at.c.claimable()
    yield
    assert at.c.get_next_partition(hint=hint)


@budget("acquire by a plain key", (1, 2), GetItem=1, UpdateItem=1)
def acquire_by_key(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    yield
    assert at.c.acquire_partition("a")


@budget("acquire what is first: a crashed one, reclaimed by a sweep", (1, 2), Query=2, UpdateItem=1)
def acquire_reclaimed(at: Place) -> Steps:
    at.c.renew(at.lease())
    at.clock.advance(HOUR)
    assert at.c.sweep().reclaimed == 1
    yield
    assert at.c.get_next_partition()


@budget("acquire what is first: an expired lease", (1, 2), Query=2, GetItem=1, UpdateItem=1)
def acquire_expired(at: Place) -> Steps:
    at.lease()
    at.clock.advance(HOUR)
    yield
    assert at.c.get_next_partition()


@budget("acquire what is first: a closed one that is due", (1, 2), Query=3, UpdateItem=1)
def acquire_closed(at: Place) -> Steps:
    at.c.close(at.lease(), HOUR)
    at.clock.advance(HOUR)
    yield
    assert at.c.get_next_partition()


@budget("acquire what is first: a new one", (1, 2), Query=3, UpdateItem=1)
def acquire_new(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    yield
    assert at.c.get_next_partition()


@budget("the same where the order starts at “new” (1 of 8)", (1, 2), Query=1, UpdateItem=1)
def acquire_new_first(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    at.order.new_first = True
    yield
    assert at.c.get_next_partition()


@budget("acquire where there is nothing", Query=4)
def acquire_nothing(at: Place) -> Steps:
    at.lease()
    yield
    assert at.c.get_next_partition() is None


@budget("acquire by hint what has large progress", (1, 2), UpdateItem=1, GetItem=1)
def acquire_large(at: Place) -> Steps:
    lease = at.lease()
    at.c.give_up(at.c.save_progress_state(lease, LARGE))
    [hint] = at.c.claimable()
    yield
    found = at.c.get_next_partition(hint=hint)
    assert found is not None
    assert found.partition.progress_state == LARGE


@budget("begin (a driver's first write)", (1, 0), theirs=(1, 1), UpdateItem=1)
def begin(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.begin(lease.key, lease.fence)


@budget("renew", (1, 0), theirs=(1, 1), UpdateItem=1)
def renew(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.renew(lease)


@budget("save progress", (1, 0), theirs=(1, 1), UpdateItem=1)
def save(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.save_progress_state(lease, {"row": 1})


@budget("save large progress (above 256 bytes)", (4, 0), theirs=(4, 2), TransactWriteItems=1)
def save_large(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.save_progress_state(lease, LARGE)


@budget("renew beside large progress", (1, 0), theirs=(1, 1), UpdateItem=1)
def renew_large(at: Place) -> Steps:
    lease = at.c.save_progress_state(at.lease(), LARGE)
    at.clock.advance(1)
    yield
    at.c.renew(lease)


@budget("complete", (1, 1), UpdateItem=1)
def complete(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.complete(lease)


@budget("complete with output (one dataset)", (4, 2), TransactWriteItems=1)
def complete_with_output(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.complete(lease, blocks=[BLOCK])


@budget("close", (1, 2), UpdateItem=1)
def close(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.close(lease, HOUR)


@budget("fail, after a success", (2, 2), UpdateItem=2, GetItem=2)
def fail(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.fail(lease, "broken")


@budget("fail as two others have, within 32 s", (1, 2), UpdateItem=1, GetItem=2)
def fail_again(at: Place) -> Steps:
    for lease in [at.lease(key) for key in ("a", "b")]:
        at.c.fail(lease, "broken", retry_after=HOUR)
    lease = at.lease()
    yield
    at.c.fail(lease, "broken")


@budget("complete, the first after failures", (2, 1), UpdateItem=2, GetItem=1)
def complete_after_failures(at: Place) -> Steps:
    at.c.fail(at.lease("a"), "broken", retry_after=HOUR)
    lease = at.lease()
    yield
    at.c.complete(lease)


@budget("give up", (1, 2), UpdateItem=1)
def give_up(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.give_up(lease)


@budget("an owner's write that is refused", UpdateItem=1)
def refused(at: Place) -> Steps:
    lease = at.lease()
    at.c.release(lease.key, by="ana", why="test")
    yield
    with pytest.raises(PartitionNotOwnedError):
        at.c.renew(lease)


@budget("create 10 partitions", (10, 10), PutItem=10)
def create(at: Place) -> Steps:
    at.c.register()
    yield
    at.c.create_partitions(map(str, range(10)))


@budget("create one with a parent", (4, 2), BatchGetItem=2, TransactWriteItems=1)
def create_child(at: Place) -> Steps:
    at.c.create_partitions(["parent"])
    yield
    at.c.create_partitions([PartitionIdentifier("child", parents=["parent"])])


@budget(
    "complete what two others wait for",
    (4, 6),
    UpdateItem=1,
    Query=1,
    BatchGetItem=1,
    TransactWriteItems=1,
)
def complete_parent(at: Place) -> Steps:
    lease = at.lease()
    at.c.create_partitions([PartitionIdentifier(key, parents=[lease.partition.key]) for key in "ab"])
    yield
    at.c.complete(lease)


@budget("create 10 that exist", PutItem=10)
def create_again(at: Place) -> Steps:
    at.c.create_partitions(map(str, range(10)))
    yield
    assert at.c.create_partitions(map(str, range(10))).existing == 10


@budget("a sweep with nothing due", Query=5)
def sweep_nothing(at: Place) -> Steps:
    at.lease()
    yield
    at.c.sweep()


@budget("a sweep that reclaims 1 and reopens 1", (2, 4), Query=5, GetItem=1, UpdateItem=2)
def sweep(at: Place) -> Steps:
    at.c.create_partitions(["a", "b"])
    first, second = at.c.claimable()
    closed = at.c.get_next_partition(hint=first)
    assert closed is not None
    at.c.close(closed, HOUR)
    assert at.c.get_next_partition(hint=second)
    at.clock.advance(2 * HOUR)
    yield
    swept = at.c.sweep()
    assert (swept.reclaimed, swept.reopened) == (1, 1)


@budget("list up to 1,000 hints", Query=3)
def hints(at: Place) -> Steps:
    at.c.create_partitions(map(str, range(10)))
    yield
    assert len(at.c.claimable(1000)) == 10


@budget("a poke of the sensor: sweep, look, list hints", Query=20, GetItem=2)
def poke(at: Place) -> Steps:
    at.c.create_partitions(map(str, range(10)))
    at.c.counts()
    yield
    waiting = Waiting(WaitTerms(Until.CLAIMABLE, 1000))
    assert len(waiting.conclude(Observation(at.c, 1000)).hints) == 10


@budget("list what is held, 3 of 30 (up to 100 at a time)", Query=1, BatchGetItem=1)
def list_held(at: Place) -> Steps:
    some_held(at, 30)
    yield
    assert len(at.c.partitions(ASSIGNED)) == 3


@budget("list everything, or what is completed (up to 1 MB)", Query=1)
def list_all(at: Place) -> Steps:
    some_held(at, 30)
    yield
    assert len(at.c.partitions()) == 30


@budget("a look of a worker that shares its source, 3 held", Query=5, BatchGetItem=1)
def look_of_balance(at: Place) -> Steps:
    some_held(at, 30)
    joined(at, 8)
    yield
    assert len(look_at(at.c).free) == 8


@budget("counts by status, served", GetItem=1)
def counts(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    at.c.counts()
    yield
    at.c.counts()


@budget("read one partition", GetItem=1)
def read(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    yield
    assert at.c.partition("a")


@budget("a person's action, with its line in the audit", (4, 4), GetItem=1, TransactWriteItems=1)
def act(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    seen = at.c.partition("a")
    yield
    at.c.park("a", by="ana", why="test", seen=seen)
