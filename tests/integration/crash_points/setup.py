"""One source of a store, its processes, and the work they do: so written that another process can go on with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any

from airflow_coordination.leases import Block, Lease, PartitionStatus, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.times import Randomness

MINUTE = timedelta(minutes=1)
LEASE = 10 * MINUTE
ROUNDS = 12
LARGE = "x" * 500
"""Progress that DynamoDB keeps in an item of its own."""


class SeedOrder(Randomness):
    """Never starts at "new", so that an operation takes the same calls each time."""

    def chance(self, probability: float) -> bool:
        return False


@dataclass
class Setup:
    """A source, and the processes of one Airflow task on one host, one try after the other.

    :param store: for processes that nothing happens to.
    :param source: the source's name.
    :param clock: decides for the store, too.
    :param settings: of the coordinator.
    :param passes: after how many closes a partition is completed; ``None`` when its work completes it.
    :param steps: how often one pass over a partition saves its progress.
    :param then: what follows each completion.
    """

    store: PartitionStore
    source: str
    clock: FakeClock
    settings: dict[str, Any]
    passes: int | None = None
    steps: int = 2
    then: str | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    """What the task keeps for its next try, as in XCom."""
    attempts: Iterator[int] = field(default_factory=count)
    """No two processes write one directory: work that is done again makes another block."""

    def process(self, attempt: int = 1, store: PartitionStore | None = None, task: str = "task") -> SourceCoordinator:
        """Return a new process: this task's ``attempt``-th try, on the same host as all."""
        owner = f"host/dag/run/{task}/0/{attempt}"
        settings = {"max_closed_count": self.passes, **self.settings}
        return SourceCoordinator(
            store or self.store, self.source, owner, clock=self.clock, randomness=SeedOrder(), **settings
        )

    def work(self, one: SourceCoordinator, lease: Lease) -> None:
        """Go on with a partition's pass where its progress is, and end it."""
        for step in range(done(lease), self.steps):
            lease = self.step(one, lease, step)
        self.end(one, lease)

    def step(self, one: SourceCoordinator, lease: Lease, step: int = 0) -> Lease:
        """Finish one step's block, and save it with the progress."""
        progress = {"step": step + 1, "more": LARGE * (step % 2)}
        return one.save_progress_state(lease, progress, [self.block(lease, str(step))])

    def end(self, one: SourceCoordinator, lease: Lease) -> None:
        """End the pass with its last block."""
        if self.passes is None:
            one.complete(lease, [self.block(lease, "end")], then=self.then)
        else:
            one.close(lease, MINUTE, {"step": 0}, [self.block(lease, "end")])

    def block(self, lease: Lease, name: str) -> Block:
        """Return a block of this pass, of this attempt; where no generation is carried over, it asks to be added."""
        digest = f"{lease.key}.{lease.partition.closed_count}.{name}#{next(self.attempts)}"
        mode = "append" if self.passes is None else "replace"
        return Block("clean", f"/out/{digest}", digest, 1, 10, mode=mode)  # type: ignore[arg-type]

    def drain(self, one: SourceCoordinator) -> None:
        """Go on with what this task holds, then work until nothing is left that does not wait for a person."""
        for held in one.tries.held_by_task():
            if (lease := one.tries.retake(held.key)) is not None:
                self.work(one, lease)
        for _ in range(ROUNDS):
            while (lease := one.get_next_partition()) is not None:
                self.work(one, lease)
            left = one.looking.outlook()
            if not (left.claimable or left.assigned or left.waiting or left.blocked):
                return
            self.clock.advance(LEASE)
            one.sweep()
        raise AssertionError(f"stuck: {left}")

    def account(self) -> dict[str, Any]:
        """Return all that must be the same, however often processes have died."""
        one = self.process(9)
        partitions, heads = one.partitions(), one.store.heads(f"{self.source}|PARTITION")
        return {
            "partitions": {p.key: (p.status, p.closed_count, p.failures, p.progress_text) for p in partitions},
            "published": {head.key: [content(block) for block in head.blocks] for head in heads},
            "rows": {head.key: head.rows for head in heads},
            "parked": [p.key for p in partitions if p.parked],
            "not done": [p.key for p in partitions if p.status is not PartitionStatus.COMPLETED and not p.parked],
            "global state": one.supplying.global_state(),
        }


def done(lease: Lease) -> int:
    """Return how many steps of the pass are saved."""
    state = lease.partition.progress_state or {"step": 0}
    return int(state["step"])


def content(block: Block) -> str:
    """Return what was done in a block, whoever did it."""
    return block.digest.partition("#")[0]


def acquired(lease: Lease | None) -> Lease:
    """Return a lease that must be there."""
    assert lease is not None, "nothing was acquired"
    return lease
