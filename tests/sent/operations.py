"""The operations whose costs the page `dynamodb-budgets.md` shows, each on a source of its own."""

from __future__ import annotations

import pytest

from airflow_coordination.duties.standing import observe
from airflow_coordination.leases import PartitionIdentifier, PartitionNotOwnedError
from airflow_coordination.monitoring.waiting.conclusion import Until, Waiting, WaitTerms
from airflow_coordination.spark.balance import look_at
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.status import ASSIGNED
from tests.sent.place import HOUR, OPERATIONS, Place, Steps, joined, operation, some_held

BLOCK = Block("clean", "file:///out/manifest", "digest", rows=3, bytes=9)
LARGE = {"row": "x" * 600}
__all__ = ["OPERATIONS"]


@operation("acquire by hint")
def acquire_by_hint(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    [hint] = at.c.claimable()
    yield
    assert at.c.get_next_partition(hint=hint)


@operation("acquire by a plain key")
def acquire_by_key(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    yield
    assert at.c.acquire_partition("a")


@operation("acquire what is first: a crashed one, reclaimed by a sweep")
def acquire_reclaimed(at: Place) -> Steps:
    at.c.renew(at.lease())
    at.clock.advance(HOUR)
    assert at.c.sweep().reclaimed == 1
    yield
    assert at.c.get_next_partition()


@operation("acquire what is first: an expired lease")
def acquire_expired(at: Place) -> Steps:
    at.lease()
    at.clock.advance(HOUR)
    yield
    assert at.c.get_next_partition()


@operation("acquire what is first: a closed one that is due")
def acquire_closed(at: Place) -> Steps:
    at.c.close(at.lease(), HOUR)
    at.clock.advance(HOUR)
    yield
    assert at.c.get_next_partition()


@operation("acquire what is first: a new one")
def acquire_new(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    yield
    assert at.c.get_next_partition()


@operation("the same where the order starts at “new” (1 of 8)")
def acquire_new_first(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    at.order.new_first = True
    yield
    assert at.c.get_next_partition()


@operation("acquire where there is nothing")
def acquire_nothing(at: Place) -> Steps:
    at.lease()
    yield
    assert at.c.get_next_partition() is None


@operation("acquire by hint what has large progress")
def acquire_large(at: Place) -> Steps:
    lease = at.lease()
    at.c.give_up(at.c.save_progress_state(lease, LARGE))
    [hint] = at.c.claimable()
    yield
    found = at.c.get_next_partition(hint=hint)
    assert found is not None
    assert found.partition.progress_state == LARGE


@operation("begin (a driver's first write)")
def begin(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.begin(lease.key, lease.fence)


@operation("renew")
def renew(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.renew(lease)


@operation("save progress")
def save(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.save_progress_state(lease, {"row": 1})


@operation("save large progress (above 256 bytes)")
def save_large(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.save_progress_state(lease, LARGE)


@operation("renew beside large progress")
def renew_large(at: Place) -> Steps:
    lease = at.c.save_progress_state(at.lease(), LARGE)
    at.clock.advance(1)
    yield
    at.c.renew(lease)


@operation("complete")
def complete(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.complete(lease)


@operation("complete with output (one dataset)")
def complete_with_output(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.complete(lease, blocks=[BLOCK])


@operation("close")
def close(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.close(lease, HOUR)


@operation("fail, after a success")
def fail(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.fail(lease, "broken")


@operation("fail as two others have, within 32 s")
def fail_again(at: Place) -> Steps:
    for lease in [at.lease(key) for key in ("a", "b")]:
        at.c.fail(lease, "broken", retry_after=HOUR)
    lease = at.lease()
    yield
    at.c.fail(lease, "broken")


@operation("complete, the first after failures")
def complete_after_failures(at: Place) -> Steps:
    at.c.fail(at.lease("a"), "broken", retry_after=HOUR)
    lease = at.lease()
    yield
    at.c.complete(lease)


@operation("complete, the second after failures")
def complete_again_after_failures(at: Place) -> Steps:
    at.c.fail(at.lease("a"), "broken", retry_after=HOUR)
    at.c.complete(at.lease("b"))
    lease = at.lease()
    yield
    at.c.complete(lease)


@operation("complete and get the next: a new one")
def complete_and_get_next(at: Place) -> Steps:
    lease = at.lease()
    at.c.create_partitions(["next"])
    yield
    assert at.c.complete_and_get_next(lease)


@operation("complete with output and get the next, by hint")
def complete_and_get_next_by_hint(at: Place) -> Steps:
    lease = at.lease()
    at.c.create_partitions(["next"])
    [hint] = at.c.claimable()
    yield
    assert at.c.complete_and_get_next(lease, blocks=[BLOCK], hint=hint)


@operation("give up")
def give_up(at: Place) -> Steps:
    lease = at.lease()
    yield
    at.c.give_up(lease)


@operation("an owner's write that is refused")
def refused(at: Place) -> Steps:
    lease = at.lease()
    at.c.people.release(lease.key, by="ana", why="test")
    yield
    with pytest.raises(PartitionNotOwnedError):
        at.c.renew(lease)


@operation("create 10 partitions")
def create(at: Place) -> Steps:
    at.c.supplying.register()
    yield
    at.c.create_partitions(map(str, range(10)))


@operation("create one with a parent")
def create_child(at: Place) -> Steps:
    at.c.create_partitions(["parent"])
    yield
    at.c.create_partitions([PartitionIdentifier("child", parents=["parent"])])


@operation("complete what two others wait for")
def complete_parent(at: Place) -> Steps:
    lease = at.lease()
    at.c.create_partitions([PartitionIdentifier(key, parents=[lease.partition.key]) for key in "ab"])
    yield
    at.c.complete(lease)


@operation("create 10 that exist")
def create_again(at: Place) -> Steps:
    at.c.create_partitions(map(str, range(10)))
    yield
    assert at.c.create_partitions(map(str, range(10))).existing == 10


@operation("create 5,000 partitions", sql_only=True)
def create_many(at: Place) -> Steps:
    at.c.supplying.register()
    yield
    at.c.create_partitions(f"{number:04}" for number in range(5_000))


@operation("create 5,000 that exist", sql_only=True)
def create_many_again(at: Place) -> Steps:
    at.c.create_partitions(f"{number:04}" for number in range(5_000))
    yield
    assert at.c.create_partitions(f"{number:04}" for number in range(5_000)).existing == 5_000


@operation("a sweep with nothing due")
def sweep_nothing(at: Place) -> Steps:
    at.lease()
    yield
    at.c.sweep()


@operation("a sweep that reclaims 1 and reopens 1")
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


@operation("list up to 1,000 hints")
def hints(at: Place) -> Steps:
    at.c.create_partitions(map(str, range(10)))
    yield
    assert len(at.c.claimable(1000)) == 10


@operation("how many of 20 are held, wait, or are parked")
def outlook(at: Place) -> Steps:
    at.c.create_partitions(f"{number:02}" for number in range(20))
    assert all(at.c.acquire_partition(f"{number:02}") for number in range(20))
    at.c.counts()
    yield
    assert at.c.looking.outlook().assigned == 20


@operation("a poke of the sensor: sweep, look, list hints")
def poke(at: Place) -> Steps:
    at.c.create_partitions(map(str, range(10)))
    at.c.counts()
    yield
    waiting = Waiting(WaitTerms(Until.CLAIMABLE, 1000))
    assert len(waiting.conclude(observe(at.c, 1000)).hints) == 10


@operation("list what is held, 3 of 30 (up to 100 at a time)")
def list_held(at: Place) -> Steps:
    some_held(at, 30)
    yield
    assert len(at.c.partitions(ASSIGNED)) == 3


@operation("list everything, or what is completed (up to 1 MB)")
def list_all(at: Place) -> Steps:
    some_held(at, 30)
    yield
    assert len(at.c.partitions()) == 30


@operation("a look of a worker that shares its source, 3 held")
def look_of_balance(at: Place) -> Steps:
    some_held(at, 30)
    joined(at, 8)
    yield
    assert len(look_at(at.c).free) == 8


@operation("counts by status, served")
def counts(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    at.c.counts()
    yield
    at.c.counts()


@operation("read one partition")
def read(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    yield
    assert at.c.partition("a")


@operation("a person's action, with its line in the audit")
def act(at: Place) -> Steps:
    at.c.create_partitions(["a"])
    seen = at.c.partition("a")
    yield
    at.c.people.park("a", by="ana", why="test", seen=seen)
