"""A process at work on a source of its own, and what is counted of what it does there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from airflow_coordination.leases import Lease, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import Create
from airflow_coordination.testing.clock import FakeClock
from tests.sent.walk import Counted

OWNER = "worker-7.example.org/flights/scheduled__2026-01-31T08:00:00+00:00/drain/12/1"
HOUR = timedelta(hours=1)


class Place:
    """A process at work on a source of its own.

    :param store: as a process has it that has started.
    """

    def __init__(self, store: PartitionStore, clock: FakeClock, source: str) -> None:
        self.store, self.clock, self.order = store, clock, Counted()
        self.c = SourceCoordinator(store, source, OWNER, clock=clock, randomness=self.order)

    def lease(self, key: str = "flights/2013/01/01") -> Lease:
        """Create a partition, and acquire it by its hint, as a mapped task does."""
        self.c.create_partitions([key])
        lease = self.c.get_next_partition(hint=self.c.claimable()[0])
        assert lease is not None
        self.clock.advance(1)
        return lease


def started(store: PartitionStore, clock: FakeClock, source: str) -> Place:
    """Return a process that has looked for another writer and for a pause, and for the place of new partitions."""
    place = Place(store, clock, source)
    assert place.c.get_next_partition() is None
    store.create(Create(source=f"{place.c.source}|PARTITION", op="0" * 24, partitions=()))
    return place


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
            at.c.people.park(lease.partition.key, by="ana", why="broken")


def joined(at: Place, capacity: int) -> None:
    """Become a member of the source that lasts as long as its lease: nothing renews it beside what is counted."""
    at.c.workers.join(capacity)._heartbeat.stop()


Steps = Iterator[None]
"""What an operation does: counted from the ``yield`` on."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What somebody may do.

    :param name: as the table and its page call it.
    :param steps: does it.
    :param sql_only: it is nothing to count on DynamoDB, where it is the same once for each partition.
    """

    name: str
    steps: Callable[[Place], Steps]
    sql_only: bool = False


OPERATIONS: list[Operation] = []


def operation(name: str, *, sql_only: bool = False) -> Callable[[Callable[[Place], Steps]], Callable[[Place], Steps]]:
    """Add an operation."""

    def add(steps: Callable[[Place], Steps]) -> Callable[[Place], Steps]:
        OPERATIONS.append(Operation(name, steps, sql_only))
        return steps

    return add
