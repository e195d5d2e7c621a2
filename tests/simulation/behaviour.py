"""What processes do with their leases: everything that users' code may do, at bad moments too."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeVar

from airflow_coordination.leases import Block, Fence, Lease
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.testing.history import RecordedCoordinator
from airflow_coordination.values.accounting import Accounting, SinkCounts
from airflow_coordination.values.blocks import Mode
from airflow_coordination.values.errors import OutcomeUnknownError, PartitionNotFoundError, PartitionNotOwnedError
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.times import Clock, Randomness
from tests.simulation.clocks import VirtualHeartbeat

T = TypeVar("T")
DATASET = "flights"
TIRED_AFTER = 3


class Abandoned(Exception):
    """The worker lets go of a partition without ending its tenure."""


EXPECTED: Final = (CoordinationError, Abandoned)
"""What may come of anything that is tried."""


@dataclass
class Habits:
    """How a run's processes work.

    :param steps: saves per tenure at most.
    :param pace: seconds between two steps at most.
    :param heartbeats: share of tenures that are renewed.
    :param endings: weights of complete, close, fail and give up.
    :param retry_after: seconds at most after which a failure, or what was given up, may be tried again.
    """

    steps: int
    pace: float
    heartbeats: float
    endings: tuple[int, int, int, int]
    reopen_after: float
    retry_after: float = 30.0


class Behaviour:
    """One process's work on partitions.

    :param one: its coordinator.
    :param clock: its clock.
    :param source: seeded.
    :param heartbeat: keeps its leases.
    """

    def __init__(
        self,
        one: RecordedCoordinator,
        clock: Clock,
        source: random.Random,
        habits: Habits,
        heartbeat: type[Heartbeat] = VirtualHeartbeat,
    ) -> None:
        self.one, self.clock, self._random, self._habits = one, clock, source, habits
        self._keeper = heartbeat
        self._chance = Randomness(source)
        self._made = 0
        self._counted: dict[Fence, Accounting] = {}
        self._asked: tuple[Partition, float] | None = None

    def acquire(self, any_key: Callable[[], str]) -> Lease | None:
        """Acquire a partition by its key, by a hint, or whatever is next."""
        kind = self._random.randrange(4)
        if kind == 0:
            return self.one.acquire_partition(any_key())
        if kind == 1:
            hints = self.one.claimable(limit=3)
            return self.one.get_next_partition(hint=self._random.choice(hints)) if hints else None
        return self.one.get_next_partition()

    def want(self, key: str) -> Lease | None:
        """Ask for a partition that somebody else holds, or take it when the time for handing it over has come.

        Sometimes that is tried too early. What was refused is asked for no more, and not taken.
        """
        if self._asked is None:
            self._ask(key)
            if self._asked is None or self._random.random() < 0.4:
                return None
        seen, due = self._asked
        left = max(0.0, due - self.clock.monotonic())
        self.clock.sleep(left * 0.9 if self._random.random() < 0.2 else left + self._random.random() * 3)
        self._asked = None
        return self.one.steal(seen)

    def _ask(self, key: str) -> None:
        seen = self.one.partition(key)
        if seen is None or seen.owner in (None, self.one.coordinator.owner.text):
            return
        patience = timedelta(seconds=self._random.random() * self._habits.pace * 0.4 + 0.001)
        self._asked = seen, self.clock.monotonic() + patience.total_seconds()
        if not self.one.ask(seen, patience):
            self._asked = None

    def resume(self, key: str, fence: Fence, watched: float) -> Lease | None:
        """Go on with what an earlier try holds: watch its driver, or take the partition over and return the lease.

        :param watched: how often the driver is watched.
        """
        if self._random.random() >= watched:
            return self.one.retake(key)
        adopted = self.insist(lambda: self.one.adopt(key, fence))
        if adopted is not None and self._random.random() < 0.5:
            self.insist(lambda: self.one.fail_for_dead_owner(key, fence, "dead"))
        return None

    def end_for_driver(self, lease: Lease) -> None:
        """End the tenure of a driver that seems to be dead."""
        self.insist(lambda: self._ended_for_driver(lease))

    def _ended_for_driver(self, lease: Lease) -> bool:
        if self._random.random() < 0.5:
            return self.one.fail_for_dead_owner(lease.key, lease.fence, "dead")
        return self.one.give_up_for_dead_owner(lease.key, lease.fence)

    def work(self, lease: Lease) -> None:
        """Work on a partition to some end."""
        with suppress(CoordinationError, Abandoned):
            if self._random.random() < self._habits.heartbeats:
                with self._heartbeat(lease) as beating:
                    self._tenure(lease, lambda: beating.lost is not None)
            else:
                self._tenure(lease, lambda: False)

    def insist(self, call: Callable[[], T]) -> T:
        """Make a call, again and again while the store is silent; after some time, mostly leave it.

        :raises Abandoned: when it is left.
        """
        tries = 0
        while True:
            try:
                return call()
            except (PartitionNotOwnedError, PartitionNotFoundError):
                raise
            except CoordinationError as error:
                tries += 1
                if tries > TIRED_AFTER or self._random.random() < 0.3:
                    raise Abandoned from error
                self.clock.sleep(self._random.random() * 2)

    def block(self) -> Block:
        """Return a finished piece of output, unlike all others."""
        self._made += 1
        name = f"{self.one.process}-{self._made}"
        mode: Mode = "append" if self._random.random() < 0.1 else "replace"
        return Block(DATASET, f"/out/{name}", name, rows=1, bytes=1, mode=mode)

    def blocks(self) -> list[Block]:
        """Return none, one or two of them."""
        return [self.block() for _ in range(self._random.randrange(3))]

    def _heartbeat(self, lease: Lease) -> Heartbeat:
        settings = self.one.coordinator.settings
        return self._keeper(self.one.renew, lease, lambda error: None, settings, None, self.clock, self._chance)

    def _tenure(self, lease: Lease, lost: Callable[[], bool]) -> None:
        for _ in range(self._random.randrange(self._habits.steps + 1)):
            self._pause()
            if lost():
                raise Abandoned
            if lease.wanted and self._random.random() < 0.5:
                break
            lease = self._save(lease)
        self._pause()
        self._end(lease)

    def _pause(self) -> None:
        self.clock.sleep(self._random.random() * self._habits.pace)

    def _save(self, lease: Lease) -> Lease:
        self._made += 1
        state, blocks = f"{self.one.process}:{self._made}", self.blocks()
        if self._random.random() < 0.1:
            lease = self.insist(lambda: self.one.renew(lease))
        counted = self._count(lease, len(blocks))
        return self.insist(lambda: self.one.save_progress_state(lease, state, blocks, counted))

    def _count(self, lease: Lease, records: int) -> Accounting | None:
        """Return what became of this tenure's records, those that come now included; two tenures in three have any."""
        if lease.fence.token % 3 == 0:
            return None
        known = self._counted.get(lease.fence, Accounting())
        sinks = {"search": SinkCounts(owed=records, delivered=records)}
        new = Accounting(read=records + 1, delivered_everywhere=records, dropped={"bad": 1}, sinks=sinks)
        self._counted[lease.fence] = known + new
        return known + new

    def _end(self, lease: Lease) -> None:
        while True:
            try:
                self._ending(lease)(lease)
                return
            except OutcomeUnknownError:
                if self._random.random() < 0.5:
                    raise Abandoned from None

    def _ending(self, lease: Lease) -> Callable[[Lease], None]:
        if lease.wanted and self._random.random() < 0.7:
            return self._hand_over
        endings = (self._complete, self._close, self._fail, self._give_up)
        return self._random.choices(endings, self._habits.endings)[0]

    def _hand_over(self, lease: Lease) -> None:
        self._once_or_insist(lambda: self.one.hand_over(lease))

    def _complete(self, lease: Lease) -> None:
        blocks = self.blocks()
        counted = self._count(lease, len(blocks))
        if self._random.random() < 0.4:
            following = self._once_or_insist(
                lambda: self.one.complete_and_get_next(lease, blocks, counted, self.then(lease))
            )
            if following is not None:
                self.work(following)
        else:
            self._once_or_insist(lambda: self.one.complete(lease, blocks, counted, self.then(lease)))

    def _close(self, lease: Lease) -> None:
        after = timedelta(seconds=self._random.random() * self._habits.reopen_after)
        blocks = self.blocks()
        counted = self._count(lease, len(blocks))
        self._made += 1
        state = f"{self.one.process}:{self._made}" if self._random.random() < 0.6 else None
        self._once_or_insist(lambda: self.one.close(lease, after, state, blocks, counted, self.then(lease)))

    def _fail(self, lease: Lease) -> None:
        after = (
            timedelta(seconds=self._random.random() * self._habits.retry_after) if self._random.random() < 0.5 else None
        )
        self._once_or_insist(lambda: self.one.fail(lease, "boom", after))

    def _give_up(self, lease: Lease) -> None:
        after = (
            timedelta(seconds=self._random.random() * self._habits.retry_after) if self._random.random() < 0.3 else None
        )
        self._once_or_insist(lambda: self.one.give_up(lease, after))

    def then(self, lease: Lease) -> str | None:
        """Return what follows an ending of a lease: for every other tenure, and the same in whatever call ends it."""
        return f'"{lease.key} {lease.fence}"' if lease.fence.token % 2 else None

    def _once_or_insist(self, call: Callable[[], T]) -> T:
        """Make a call once and let its error through, or insist on it."""
        return call() if self._random.random() < 0.3 else self.insist(call)


def bring_to_an_end(one: RecordedCoordinator) -> bool:
    """Sweep, complete what can be acquired, and return whether nothing is left but what waits for a person."""
    one.sweep()
    while (lease := one.get_next_partition()) is not None:
        one.complete(lease)
    outlook = one.outlook()
    return not outlook.claimable + outlook.assigned + outlook.waiting
