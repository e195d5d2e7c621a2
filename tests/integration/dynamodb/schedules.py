"""Random schedules under faults, and what must hold of every one of them.

Everything is drawn from one seed and runs in one thread, so that a seed that fails fails again. What a call did is
known by a mark of its own in what it writes: the test sees every version of every item, and so every mark that was
ever applied.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from airflow_coordination.leases import Lease, Partition, PartitionStatus, SourceCoordinator
from airflow_coordination.protocol.steps import due_at
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Crash
from airflow_coordination.values.errors import (
    OutcomeUnknownError,
    PartitionNotFoundError,
    PartitionNotOwnedError,
    PartitionUpdateError,
    StoreUnavailableError,
)
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.status import Outcome
from tests.faults.dynamodb_client import Fault, FaultyClient, by_chance, no_faults
from tests.faults.dynamodb_lag import LaggingIndex
from tests.integration.dynamodb.table import SOURCE, SharedTable, block

S = PartitionStatus
KEYS = ["a", "b", "c", "d", "e"]
WORKERS = 3
STEPS = 120
TTL = timedelta(days=1)
SETTINGS = Settings(
    max_closed_count=3,
    max_failures=3,
    max_lost_leases=3,
    retry_delay=timedelta(seconds=10),
    request_deadline=timedelta(seconds=5),
)
CHANCES = {
    Fault.APPLIED: 0.05,
    Fault.NOT_APPLIED: 0.03,
    Fault.APPLIED_LATE: 0.05,
    Fault.THROTTLED: 0.04,
    Fault.CONFLICT: 0.02,
    Fault.INTERNAL_ERROR: 0.02,
    Fault.UNAVAILABLE: 0.02,
    Fault.UNREACHABLE: 0.01,
    Fault.IN_PROGRESS: 0.01,
    Fault.CRASH_BEFORE: 0.005,
    Fault.CRASH_AFTER: 0.005,
}
SILENCE = [Fault.APPLIED, Fault.NOT_APPLIED, Fault.APPLIED_LATE, Fault.UNREACHABLE]
_MARK = re.compile(r"mark-\d{5}")
_SURELY_NOT = (StoreUnavailableError, PartitionNotOwnedError, PartitionNotFoundError, PartitionUpdateError)


class Watcher:
    """Knows everything that was ever in the table, and checks each step of each partition."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.marks: set[str] = set()
        self.now: dict[str, Partition] = {}
        self.fences: set[tuple[str, str]] = set()
        self.outcomes: dict[str, Outcome] = {}
        """How the tenure with each nonce ended."""
        self._operations: set[tuple[str, str]] = set()
        self._contents: dict[str, tuple[str, list[Any]]] = {}

    def see(self, key: dict[str, Any], raw: dict[str, Any] | None) -> None:
        if raw is None:
            del self.now[key["sourcePartitionKey"]["S"]]
            return
        self.marks |= set(_MARK.findall(json.dumps(raw)))
        if raw["sourceIdentifier"]["S"] != f"{SOURCE}|PARTITION":
            assert "expirationTime" not in raw
            return
        after = it.decode(it.plain(raw))
        self._check_image(after, raw)
        self._check_operation(after, raw)
        before = self.now.get(after.key)
        self.now[after.key] = after
        if before is not None:
            self._check_step(before, after)

    def _check_operation(self, after: Partition, raw: dict[str, Any]) -> None:
        """One operation is applied once, and nothing changes without one."""
        content = [raw.get(name) for name in ("partitionProgressState", "progressOp", "staged", "stagedOp")]
        last_op, before = self._contents.get(after.key, ("", content)) if after.key in self.now else ("", content)
        self._contents[after.key] = (after.last_op, content)
        if after.last_op == last_op:
            assert content == before, "progress changes, and nobody did it"
        else:
            assert (after.key, after.last_op) not in self._operations, "an operation is applied twice"
            self._operations.add((after.key, after.last_op))

    def _check_image(self, after: Partition, raw: dict[str, Any]) -> None:
        assert ("expirationTime" in raw) == (after.deleted or after.status is S.COMPLETED)
        assert ("sourceStatusCombinationKey" in raw) == (not after.deleted and after.status is not S.COMPLETED)
        assert (after.owner is not None) == (after.status is S.ASSIGNED)
        for ending in after.endings:
            assert self.outcomes.setdefault(ending.fence.nonce, ending.outcome) is ending.outcome

    def _check_step(self, before: Partition, after: Partition) -> None:
        assert after.token >= before.token, "S1: a token goes back"
        if (before.token, before.nonce) != (after.token, after.nonce) and after.status is S.ASSIGNED:
            self._check_acquisition(before, after)
        ending = after.ending_of(before.fence) if before.fence else None
        if ending is not None and before.status is S.ASSIGNED and ending.outcome is not Outcome.RELEASED:
            assert ending.last == before.last_op, "S5: an ending overtook a write of its chain"
            kept = 0 if ending.outcome in (Outcome.CLOSED, Outcome.COMPLETED) else before.failures
            assert after.failures == kept + (ending.outcome is Outcome.FAILED), "failures count in a row"
            assert ending.outcome is not Outcome.CLOSED or after.closed_count == before.closed_count + 1, "S7"
        closed = after.closed_count - before.closed_count
        if closed > 0:
            assert closed == 1, "S7: two closes in one step"
            assert ending is not None
            assert ending.outcome in (Outcome.CLOSED, Outcome.COMPLETED)
            assert (after.status is S.COMPLETED) == (after.closed_count == SETTINGS.max_closed_count)
        if closed < 0:
            assert after.generation != before.generation, "S7: only a new generation counts from zero"
        if (
            before.status is S.COMPLETED
            and not before.deleted
            and (after.status, after.deleted) != (S.COMPLETED, False)
        ):
            assert after.deleted or (after.generation != before.generation and after.progress_text is None), "S3"

    def _check_acquisition(self, before: Partition, after: Partition) -> None:
        assert after.token == before.token + 1, "S1: a token is left out"
        assert (after.key, after.nonce) not in self.fences, "S1: a fence is given twice"
        self.fences.add((after.key, after.nonce))
        ending = after.ending_of(before.fence) if before.fence else None
        if ending is None or ending.outcome is not Outcome.RETAKEN:
            due = due_at(before)
            assert due is not None, "S8: it could not be acquired at all"
            assert due <= self._clock.now(), "S8: acquired before it was due"
        wrote = before.confirmed or before.last_op != before.nonce
        lost = wrote if before.status is S.ASSIGNED else 0
        assert after.lost_leases == before.lost_leases + lost, "a tenure without a write counts no lost lease"


@dataclass
class Worker:
    """An owner with the leases in its hands, some of them over for long."""

    coordinator: SourceCoordinator
    leases: list[Lease] = field(default_factory=list)


class Schedule:
    """One seed's run.

    :param shared: the table.
    :param seed: decides everything.
    """

    def __init__(self, shared: SharedTable, clock: FakeClock, seed: int) -> None:
        self._shared, self._clock, self._random = shared, clock, random.Random(seed)
        self.watcher = Watcher(clock)
        self._index = LaggingIndex(
            shared.engine.client, shared.table, clock, random.Random(seed + 1), watch=self.watcher.see
        )
        self._chaos = by_chance(CHANCES, random.Random(seed + 2))
        self._silent = 0
        self.client = FaultyClient(
            shared.engine.client, late_by=lambda: self._random.randrange(1, 40), index=self._index
        )
        self._timeout = timedelta(seconds=self._random.choice([3, 20, 60]))
        self._workers = [self._worker(number) for number in range(WORKERS)]
        self._marked = 0
        self.sure: set[str] = set()
        """Marks of calls that said "done"."""
        self.never: set[str] = set()
        """Marks of calls that said "surely not"."""
        self._handed_out: set[str] = set()
        self.log: list[str] = []

    def _worker(self, number: int) -> Worker:
        seed = self._random.getrandbits(32)
        coordinator = self._shared.coordinator(
            f"worker-{number}", client=self.client, seed=seed, settings=SETTINGS, ownership_timeout=self._timeout
        )
        return Worker(coordinator)

    def run(self) -> None:
        """Let the workers work under faults, then let them finish without, and check what they were told."""
        self._workers[0].coordinator.create_partitions(KEYS[:3])
        self.client.plan = self._plan
        for _ in range(STEPS):
            self._step()
        self.client.plan = no_faults
        self.client.deliver()
        self._index.catch_up()
        self._finish()
        self._check_what_was_told()

    def clean_up(self) -> None:
        """Delete the tables."""
        for table in (self._shared.table, self._index.table):
            self._shared.engine.delete(table)

    def _step(self) -> None:
        number = self._random.randrange(WORKERS)
        worker = self._workers[number]
        doing = self._random.choices(list(DOINGS), list(DOINGS.values()))[0]
        self.log.append(f"{self._clock.now():%H:%M:%S.%f} worker {number} {doing.__name__}")
        try:
            doing(self, worker)
        except Crash:
            self.client.crashed = False
            self._workers[number] = self._worker(number)
        except CoordinationError as error:
            self.log.append(f"    {error!r}"[:300])

    def _plan(self, operation: str) -> Fault | None:
        if not self._silent:
            return self._chaos(operation)
        self._silent -= 1
        return self._random.choice(SILENCE)

    def _finish(self) -> None:
        last = self._worker(WORKERS).coordinator
        last.create_partitions(KEYS)
        for _ in range(100):
            last.sweep()
            while (lease := last.get_next_partition()) is not None:
                last.complete(lease)
            self._clock.advance(timedelta(minutes=1))
            if all(p.status is S.COMPLETED or p.parked for p in last.partitions()):
                break
        states = {p.key: (p.status, p.parked) for p in last.partitions()}
        assert set(states) == set(KEYS)
        assert all(status is S.COMPLETED or parked for status, parked in states.values()), f"L1: {states}"
        assert last.looking.outlook().assigned == 0

    def _check_what_was_told(self) -> None:
        assert not self.sure - self.watcher.marks, "S6: done, and not in the store"
        assert not self.never & self.watcher.marks, "S6: surely not done, and in the store"

    def _told(self, call: Callable[[str], object]) -> Any:
        """Make a call with a mark of its own, and note what it said of it."""
        self._marked += 1
        mark = f"mark-{self._marked:05}"
        self.log.append(f"    {mark}")
        try:
            result = call(mark)
        except OutcomeUnknownError:
            raise
        except _SURELY_NOT:
            self.never.add(mark)
            raise
        self.sure.add(mark)
        return result

    def create(self, worker: Worker) -> None:
        made = worker.coordinator.create_partitions(self._random.sample(KEYS, 2))
        assert made.created + made.existing == 2

    def acquire(self, worker: Worker) -> None:
        kind = self._random.randrange(3)
        if kind == 0:
            lease = worker.coordinator.get_next_partition()
        elif kind == 1:
            hints = worker.coordinator.claimable()
            lease = worker.coordinator.get_next_partition(hint=self._random.choice(hints)) if hints else None
        else:
            lease = worker.coordinator.acquire_partition(self._random.choice(KEYS))
        if lease is None:
            return
        self._take(worker, lease)

    def _take(self, worker: Worker, lease: Lease) -> None:
        self.log.append(f"    {lease.key} {lease.fence}")
        assert lease.fence.nonce not in self._handed_out, "S1: one fence for two"
        self._handed_out.add(lease.fence.nonce)
        worker.leases.append(lease)

    def begin(self, worker: Worker) -> None:
        """Start another driver on a lease: it goes on with the tenure, or retakes from the driver before it."""
        for _, lease in self._drawn(worker):
            begun = worker.coordinator.begin(lease.key, lease.fence)
            if begun.fence == lease.fence:
                worker.leases.append(begun)
            else:
                self._take(worker, begun)

    def _drawn(self, worker: Worker) -> list[tuple[int, Lease]]:
        """Return one of the leases in a worker's hands with its place there, mostly the newest one."""
        held = list(enumerate(worker.leases))
        return held[-1:] if self._random.random() < 0.7 else self._random.sample(held, min(1, len(held)))

    def renew(self, worker: Worker) -> None:
        for place, lease in self._drawn(worker):
            renewed = worker.leases[place] = worker.coordinator.renew(lease)
            now = self.watcher.now[lease.key]
            assert now.held_under(lease.fence), "S2: renewed, and not held"
            assert now.ownership_timeout is not None
            assert now.ownership_timeout >= renewed.expires_at, "the owner was promised more than the store knows"

    def save(self, worker: Worker) -> None:
        size = self._random.choice([1, 1, 2000])
        for place, lease in self._drawn(worker):
            save = partial(self._save, worker.coordinator, lease, size)
            worker.leases[place] = self._told(save)

    def _save(self, coordinator: SourceCoordinator, lease: Lease, size: int, mark: str) -> Lease:
        return coordinator.save_progress_state(lease, mark * size, [block(mark)])

    def complete(self, worker: Worker) -> None:
        self._end(worker, Outcome.COMPLETED, lambda lease, mark: worker.coordinator.complete(lease, [block(mark)]))

    def close(self, worker: Worker) -> None:
        after = timedelta(seconds=self._random.randrange(40))
        self._end(worker, Outcome.CLOSED, lambda lease, mark: worker.coordinator.close(lease, after, state=mark))

    def fail(self, worker: Worker) -> None:
        self._end(worker, Outcome.FAILED, lambda lease, mark: worker.coordinator.fail(lease, mark))

    def give_up(self, worker: Worker) -> None:
        self._end(worker, Outcome.GIVEN_UP, lambda lease, mark: worker.coordinator.give_up(lease), marked=False)

    def _end(
        self, worker: Worker, outcome: Outcome, end: Callable[[Lease, str], object], *, marked: bool = True
    ) -> None:
        for place, lease in self._drawn(worker):
            call = partial(end, lease)
            self._told(call) if marked else call("")
            ended = self.watcher.outcomes[lease.fence.nonce]
            assert ended is outcome or (outcome, ended) == (Outcome.CLOSED, Outcome.COMPLETED)
            if self._random.random() < 0.8:
                del worker.leases[place]

    def sweep(self, worker: Worker) -> None:
        worker.coordinator.sweep()

    def act(self, worker: Worker) -> None:
        action = self._random.choice(["release", "park", "reopen", "reopen", "reset", "reset", "retract", "delete"])
        people = worker.coordinator.people
        self._told(lambda mark: getattr(people, action)(self._random.choice(KEYS), by="ana", why=mark))

    def pause(self, worker: Worker) -> None:
        self._clock.advance(self._random.choice([0.1, 1, 1, 5, 20, 70]))

    def outage(self, worker: Worker) -> None:
        """Let no request be answered for a while; for most calls that is longer than their deadline."""
        self._silent = self._random.randrange(5, 20)

    def long_time(self, worker: Worker) -> None:
        """Let so much time pass that no message is under way any more, and TTL has removed what it may."""
        self.client.deliver()
        self._clock.advance(timedelta(days=8))
        for item in list(self._shared.items()):
            if "expirationTime" in item:
                key = {name: item[name] for name in ("sourceIdentifier", "sourcePartitionKey")}
                self._index.send("delete_item", {"TableName": self._shared.table, "Key": key})


DOINGS: dict[Callable[[Schedule, Worker], None], int] = {
    Schedule.create: 2,
    Schedule.acquire: 12,
    Schedule.begin: 2,
    Schedule.renew: 5,
    Schedule.save: 10,
    Schedule.complete: 2,
    Schedule.close: 3,
    Schedule.fail: 2,
    Schedule.give_up: 2,
    Schedule.sweep: 3,
    Schedule.act: 3,
    Schedule.pause: 5,
    Schedule.long_time: 1,
    Schedule.outage: 1,
}
