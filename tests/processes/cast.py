"""Who takes part, each a process of its own: workers and their drivers, a supplier, a sweeper who also acts and looks.

What they do with their leases is what the simulation's processes do (:mod:`tests.simulation.behaviour`).
"""

from __future__ import annotations

import json
import logging
import os
import random
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from airflow_coordination.leases import Checkpoint, Fence, Lease, SourceCoordinator
from airflow_coordination.leases.clock import Randomness, SystemClock
from airflow_coordination.leases.errors import CoordinationError, PartitionNotOwnedError
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.leases.metrics import CountingMetrics, Metric
from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.leases.settings import Settings
from airflow_coordination.stores import open_store
from airflow_coordination.testing.history import FileLog, RecordedCoordinator
from tests.processes.places import DiskWatch
from tests.simulation.behaviour import Abandoned, Habits, Hands
from tests.simulation.cast import ACTIONS

SOURCE: Final = "flights"
HOST: Final = "host"
"""The same for all: tasks on one machine share it."""
MOODY: Final = (CoordinationError, Abandoned)
"""What may come of anything that is tried."""
HOT: Final = 12
"""How many of the newest partitions people and workers name by their keys."""
READY: Final = 32
"""How many claimable partitions the supplier keeps in store, so that work never runs out."""
PAGE: Final = 16


@dataclass(frozen=True)
class Part:
    """What a process is told when it starts.

    :param directory: of the run.
    :param url: of the store, as this process sees it.
    :param role: what it does; see :data:`ROLES`.
    :param task: the task's name, the same for all its tries.
    :param name: unique for every start.
    :param errand: key and fence of the partition that a driver works on.
    """

    directory: Path
    url: str
    seed: int
    role: str
    task: str
    tries: int
    name: str
    settings: Settings
    habits: Habits
    haste: float
    errand: tuple[str, int, str] | None = None

    @property
    def owner(self) -> str:
        """Who it is in the store."""
        return f"{HOST}/dag/run/{self.task}/0/{self.tries}"

    @property
    def history(self) -> Path:
        """Where it notes its calls."""
        return self.directory / "history" / f"{self.name}.jsonl"

    @property
    def counts(self) -> Path:
        """Where it leaves its metrics when nobody kills it."""
        return self.directory / "counts" / f"{self.name}.json"


def key_of(number: int) -> str:
    """Return the key of the supplier's ``number``-th partition."""
    return f"k{number:07}"


class HastyClock(SystemClock):
    """The machine's clock for work that pauses shorter than it says.

    :param haste: by this factor.
    """

    def __init__(self, haste: float) -> None:
        self._haste = haste

    def sleep(self, seconds: float) -> None:
        """Wait for a part of ``seconds``."""
        super().sleep(seconds * self._haste)


class CountedCoordinator(SourceCoordinator):
    """The coordinator as it is; it knows which of its refusals no history has: those of a supplier's heartbeat."""

    unrecorded_refusals = 0

    def heartbeat(
        self,
        lease: Lease,
        on_lost: Callable[[CoordinationError], object] = lambda error: None,
        progress: Callable[[], object] | None = None,
    ) -> Heartbeat:
        """Return a context manager that keeps ``lease`` alive."""
        return Heartbeat(self._beat, lease, on_lost, self.settings, progress, self._clock, self._randomness)

    def _beat(self, lease: Lease) -> Lease:
        try:
            return self.renew(lease)
        except PartitionNotOwnedError:
            self.unrecorded_refusals += 1
            raise

    def short_counts(self) -> Counter[str]:
        """Return what was counted, by the metrics' short names, as far as histories have it."""
        assert isinstance(self.metrics, CountingMetrics)
        counts = Counter({name.rpartition("_")[2]: count for name, count in self.metrics.counts.items()})
        counts[Metric.NOT_OWNED] -= self.unrecorded_refusals
        return counts


def _open(url: str) -> PartitionStore:
    if not url.startswith("dynamodb:"):
        return open_store(url)
    from tests.processes.amazon import open_dynamodb

    return open_dynamodb(url)


class Actor:
    """One process.

    :param part: what it was told.
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        self.draw = random.Random(f"{part.seed} {part.name}")
        self.clock = HastyClock(part.haste)
        self.coordinator = CountedCoordinator(
            DiskWatch(_open(part.url), part.directory),
            SOURCE,
            part.owner,
            settings=part.settings,
            randomness=Randomness(self.draw),
        )
        self.one = RecordedCoordinator(self.coordinator, FileLog(part.history), part.name)
        self.hands = Hands(self.one, self.clock, self.draw, part.habits, Heartbeat)
        self._parent = os.getppid()
        self._listed = 0

    @property
    def running(self) -> bool:
        """Whether the run goes on, and somebody is there to end it."""
        return (self.part.directory / "running").exists() and os.getppid() == self._parent

    def hot_key(self) -> str:
        """Return the key of one of the newest partitions."""
        if not self._listed or self.draw.random() < 0.2:
            self._listed = int(self.one.global_state().get("cursor", 0))
        return key_of(max(0, self._listed - 1 - self.draw.randrange(HOT + READY)))

    def main(self) -> None:
        """Do one thing again and again."""
        while self.running:
            with suppress(*MOODY):
                self.do()

    def do(self) -> None:
        """Do it once."""
        raise NotImplementedError


class Worker(Actor):
    """A mapped task with its retries: takes partitions, works itself or hands them to a driver process."""

    def main(self) -> None:
        """Go on with what an earlier try holds, then work."""
        if self.part.tries > 1:
            with suppress(*MOODY):
                for held in self.hands.insist(self.one.held_by_task):
                    self._resume(held.key, Fence(held.token, held.nonce))
        super().main()

    def _resume(self, key: str, fence: Fence) -> None:
        """Watch an earlier try's driver, or take the partition over."""
        if self.draw.random() < 0.3:
            adopted = self.hands.insist(lambda: self.one.adopt(key, fence))
            if adopted is not None and self.draw.random() < 0.5:
                self.hands.insist(lambda: self.one.fail_for_dead_owner(key, fence, "dead"))
        else:
            self._take(self.one.retake(key))

    def do(self) -> None:
        """Take a partition to some end."""
        lease = self._acquire()
        if lease is None:
            self.clock.sleep(self.draw.random())
        self._take(lease)

    def _acquire(self) -> Lease | None:
        kind = self.draw.randrange(4)
        if kind == 0:
            return self.one.acquire_partition(self.hot_key())
        if kind == 1:
            hints = self.one.claimable(limit=3)
            return self.one.get_next_partition(hint=self.draw.choice(hints)) if hints else None
        return self.one.get_next_partition()

    def _take(self, lease: Lease | None) -> None:
        if lease is None:
            return
        if self.draw.random() < 0.04:
            self._hand_over(lease)
        else:
            self.hands.work(lease)

    def _hand_over(self, lease: Lease) -> None:
        """Start a driver, sometimes a second one; end the tenure for it when it takes too long."""
        self._drive(lease)
        if self.draw.random() < 0.3:
            self._drive(lease)
        self.clock.sleep(10 * self.draw.random())
        if self.draw.random() < 0.5:
            self.hands.insist(lambda: self._end_for_driver(lease))

    def _drive(self, lease: Lease) -> None:
        """Ask whoever started this process to start a driver; drivers outlive their tasks."""
        errand = (lease.key, lease.fence.token, lease.fence.nonce)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line, suppress(OSError):
            line.sendto(json.dumps([self.part.task, self.part.tries, errand]).encode(), address(self.part.directory))

    def _end_for_driver(self, lease: Lease) -> bool:
        if self.draw.random() < 0.5:
            return self.one.fail_for_dead_owner(lease.key, lease.fence, "dead")
        return self.one.give_up_for_dead_owner(lease.key, lease.fence)


class Driver(Actor):
    """A Spark driver: goes on with the tenure that its task handed over."""

    def main(self) -> None:
        """Work on one partition."""
        assert self.part.errand is not None
        key, token, nonce = self.part.errand
        with suppress(*MOODY):
            self.hands.work(self.hands.insist(lambda: self.one.begin(key, Fence(token, nonce))))


class Supplier(Actor):
    """Runs the supplier, whose listing grows as the work is done."""

    def do(self) -> None:
        """List some more when little is left."""
        if len(self.one.claimable(limit=READY)) < READY:
            self.one.run_supplier(self._list)
        self.clock.sleep(10 * self.draw.random())

    def _list(self, state: dict[str, Any]) -> Iterator[str | Checkpoint]:
        place = state.get("cursor", 0)
        for number in range(place, place + PAGE):
            yield key_of(number)
            if self.draw.random() < 0.05:
                yield Checkpoint({"cursor": number + 1})
        state["cursor"] = place + PAGE


class Sweeper(Actor):
    """The sensor; in between, somebody who acts on what is seen, and somebody who only looks."""

    def do(self) -> None:
        """Sweep, and do one more thing."""
        self.one.sweep(limit=self.draw.choice((1, 3, 1000)))
        self.clock.sleep(10 * self.draw.random())
        kind = self.draw.randrange(8)
        if kind == 0:
            self.one.act(self.draw.choice(ACTIONS), self.hot_key())
        elif kind == 1:
            self.one.partition(self.hot_key())
        elif kind == 2:
            self.one.published(self.hot_key())


ROLES: Final[dict[str, type[Actor]]] = {
    "worker": Worker,
    "driver": Driver,
    "supplier": Supplier,
    "sweeper": Sweeper,
}


def address(directory: Path) -> str:
    """Return where workers ask for drivers."""
    return str(directory / "drivers")


def play(part: Part) -> None:
    """Be one process from its start to its end, if nobody ends it before."""
    logging.getLogger("airflow_coordination").setLevel(logging.ERROR)  # missed renewals are what the run is about
    actor = ROLES[part.role](part)
    actor.main()
    unfinished = part.counts.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(actor.coordinator.short_counts()))
    unfinished.rename(part.counts)


def driver_of(part: Part, task: str, tries: int, name: str, errand: tuple[str, int, str]) -> Part:
    """Return the part of a driver."""
    return replace(part, role="driver", task=task, tries=tries, name=name, errand=errand)
