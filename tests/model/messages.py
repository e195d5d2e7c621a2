"""The messages of a trace: what somebody sends becomes a write of the protocol, as the real coordinator builds it."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

from airflow_coordination.leases.confirm import Settler
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.outcomes import CloseRequest, CompleteRequest
from airflow_coordination.leases.tenures import Tenures
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.writes import (
    AcquireHinted,
    AcquireNext,
    Act,
    Action,
    Ask,
    ChainWrite,
    Create,
    NewPartition,
    Renew,
    Retake,
    Save,
    Steal,
    Sweep,
    Tenancy,
)
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.fixtures import MINUTE, TIMEOUT, owner
from airflow_coordination.values.blocks import Block, merge
from airflow_coordination.values.fence import Fence, Owner
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.times import Randomness
from tests.model.traces import Step, Trace, op_id

SOURCE, KEY, OTHER = "flights|PARTITION", "k", "q"
ROWS = 2


class GivenOps(Randomness):
    """Hands out the operation id that the trace names."""

    def __init__(self) -> None:
        super().__init__(random.Random(0))
        self.next = ""

    def op_id(self) -> str:
        return self.next or super().op_id()


class Messages:
    """What each sender of a trace puts under way; nothing reaches the store by it.

    :param max_lost: so many lost leases park.
    """

    def __init__(self, store: PartitionStore, clock: FakeClock, trace: Trace, max_lost: int) -> None:
        self.store, self.clock, self.trace, self.max_lost = store, clock, trace, max_lost
        self.ops = GivenOps()
        settings = Settings(ownership_timeout=TIMEOUT)
        self.settler = Settler(store, clock, self.ops, timedelta(seconds=30))
        self.tenures = Tenures(store, settings, self.settler, clock, self.ops)
        self.leases: dict[str, Lease] = {}
        self.handed: Lease | None = None
        self.sent: dict[str, Callable[[], bool]] = {}
        self.writes: dict[str, ChainWrite] = {}
        self.sent["op1"] = self.create("op1", KEY)
        self.sent["op1"]()
        if any("complete(Q)" in step.said for step in trace.steps):
            self.sent["op1"] = self.create("op1", OTHER)
            self.sent["op1"]()
            self.leases["W0"] = self.start(self.store.acquire_next(self.following("op99", "W0", OTHER)))

    def now(self, key: str = KEY) -> Partition | None:
        return self.store.get(SOURCE, key)

    def seen(self, key: str = KEY) -> Partition:
        """Return the partition as somebody sees it who acts on it."""
        found = self.now(key)
        assert found is not None
        return found

    def start(self, partition: Partition | None) -> Lease:
        """Return the lease on what was acquired."""
        assert partition is not None
        return self.tenures.start(partition, self.clock.monotonic())

    def owner(self, who: str) -> Owner:
        number = int(who.removeprefix("W"))
        return owner("process", number + 1) if self.trace.own_try else owner(f"process-{number}")

    def tenancy(self, op: str, who: str) -> Tenancy:
        return Tenancy(op=op_id(op), owner=self.owner(who), timeout=TIMEOUT, max_lost_leases=self.max_lost)

    def following(self, op: str, who: str, key: str | None = None) -> AcquireNext:
        return AcquireNext(source=SOURCE, tenancy=self.tenancy(op, who), key=key)

    def send(self, step: Step) -> None:
        """Prepare the write that ``step`` sends; nothing reaches the store yet."""
        number = {"W": self.by_worker, "s": self.by_sweep_or_supplier, "p": self.by_person}[step.who[0]]
        self.sent[step.op] = number(step)

    def by_person(self, step: Step) -> Callable[[], bool]:
        write = Act(
            source=SOURCE, key=KEY, op=op_id(step.op), action=Action(step.kind), seen=self.seen(), by="ana", why="why"
        )  # fmt: skip
        return lambda: self.store.act(write).applied

    def by_sweep_or_supplier(self, step: Step) -> Callable[[], bool]:
        if step.kind == "create":
            return self.create(step.op, KEY)
        write = self.sweeping(step.op)
        return lambda: self.store.sweep(write).total == 1

    def sweeping(self, op: str = "op97") -> Sweep:
        return Sweep(source=SOURCE, op=op_id(op), limit=10, max_lost_leases=self.max_lost)

    def create(self, op: str, key: str) -> Callable[[], bool]:
        new = NewPartition(key=key, payload_text=None, priority=0)
        write = Create(source=SOURCE, op=op_id(op), partitions=(new,))

        def apply() -> bool:
            before = self.now(key)
            self.store.create(write)
            return self.now(key) != before

        return apply

    def by_worker(self, step: Step) -> Callable[[], bool]:
        acquisitions: dict[str, Callable[[Step], Callable[[], bool]]] = {
            "acquire_hint": self.hinted, "acquire_query": self.queried, "retake": self.retaken,
            "complete(Q)+acquire next": self.fused, "renew": self.renewal, "ask": self.question, "steal": self.theft,
        }  # fmt: skip
        if step.kind in acquisitions:
            return acquisitions[step.kind](step)
        write = self.chain_write(step, self.leases[step.who])
        self.writes[step.op] = write
        return lambda: self.store.write(write).applied

    def hinted(self, step: Step) -> Callable[[], bool]:
        write = AcquireHinted(source=SOURCE, key=KEY, token=self.seen().token, tenancy=self.tenancy(step.op, step.who))
        return lambda: self.got(step.who, self.store.acquire(write))

    def retaken(self, step: Step) -> Callable[[], bool]:
        seen, tenancy = self.seen(), self.tenancy(step.op, step.who)
        write = Retake(source=SOURCE, key=KEY, token=seen.token, last_op=seen.last_op, tenancy=tenancy)
        return lambda: self.got(step.who, self.store.acquire(write))

    def question(self, step: Step) -> Callable[[], bool]:
        by = self.owner(step.who).text
        write = Ask(source=SOURCE, key=KEY, fence=self.fence_seen(), by=by, patience=MINUTE)
        return lambda: self.store.write(write).applied

    def theft(self, step: Step) -> Callable[[], bool]:
        write = Steal(source=SOURCE, key=KEY, fence=self.fence_seen(), tenancy=self.tenancy(step.op, step.who))
        return lambda: self.got(step.who, self.store.acquire(write))

    def fence_seen(self) -> Fence:
        """Return the fence of who holds the partition now."""
        found = self.seen().fence
        assert found is not None
        return found

    def queried(self, step: Step) -> Callable[[], bool]:
        write = self.following(step.op, step.who)
        return lambda: self.store.acquire_next(write) is not None

    def fused(self, step: Step) -> Callable[[], bool]:
        lease = self.leases["W0"]
        self.ops.next = op_id("op98")
        end = self.tenures.prepare(lease, CompleteRequest(), ())
        following = self.following(step.op, step.who)

        def apply() -> bool:
            fused = parts_of(self.store).fused
            if fused is None:  # as the coordinator does there: two steps, the second under the same condition
                return self.store.write(end).applied and self.store.acquire_next(following) is not None
            answer = fused.complete_and_acquire(end, following)
            assert answer.ended.applied or answer.next is None
            return answer.next is not None

        return apply

    def got(self, who: str, answer: Answer) -> bool:
        """Remember what was acquired, and return whether anything was."""
        if answer.applied:
            self.leases[who] = self.start(answer.partition)
            self.handed = self.handed or self.start(answer.partition)
        return answer.applied

    def renewal(self, step: Step) -> Callable[[], bool]:
        write = Renew(source=SOURCE, key=KEY, fence=self.leases[step.who].fence, timeout=TIMEOUT)
        return lambda: self.store.write(write).applied

    def chain_write(self, step: Step, lease: Lease) -> ChainWrite:
        """Return what the real coordinator would send, under the operation id of the trace."""
        self.ops.next = op_id(step.op)
        chain = lease.chain
        progress = int(chain.partition.progress_text or 0)
        if step.kind == "save":
            return Save(
                source=SOURCE, key=KEY, fence=lease.fence, op=op_id(step.op), prev=chain.last_op,
                progress_text=str(progress + 1), staged=merge(chain.partition.staged, [row(progress, step.op)]),
                timeout=TIMEOUT / 2,
            )  # fmt: skip
        endings = {
            "complete": (CompleteRequest(), ROWS),
            "close(fresh)": (CloseRequest(asked=MINUTE, wait=MINUTE), ROWS),
            "close(state)": (CloseRequest(str(progress), asked=MINUTE, wait=MINUTE), progress),
        }
        ending, upto = endings[step.kind]
        return self.tenures.prepare(lease, ending, [row(number, step.op) for number in range(progress, upto)])


def row(number: int, op: str) -> Block:
    """Return the block that ``op`` has finished for one row."""
    return Block("clean", f"/out/{number}-{op}", f"{number}-{op}", 1, 1)
