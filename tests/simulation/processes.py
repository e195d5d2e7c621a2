"""The processes of a run: workers with their drivers and retries, suppliers, sweepers, people; and nature."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from airflow_coordination.leases import Checkpoint, Fence, Lease
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.history import Kind, Told
from tests.simulation.behaviour import EXPECTED, Behaviour, bring_to_an_end
from tests.simulation.clocks import ProcessClock
from tests.simulation.faults import Fault
from tests.simulation.setup import SOURCE_ID, Setup
from tests.simulation.world import Process

ACTIONS: Final = (
    *(Action.RELEASE, Action.REOPEN, Action.REOPEN, Action.PARK),
    *(Action.RESET, Action.RETRACT, Action.DELETE),
)


class Worker:
    """A mapped task with its retries: takes partitions, works itself or hands them to a driver process."""

    def __init__(self, setup: Setup, task: str, tries: int = 1) -> None:
        self._setup, self._task, self._try, self._draw = setup, task, tries, setup.draw
        self.process, self._one, self._clock = setup.start(task, tries)
        self._behaviour = Behaviour(self._one, self._clock, self._draw, setup.habits)
        self.process.when_killed = self._retry
        self.process.spawn(self._main)

    def _retry(self) -> None:
        if self._setup.running:
            again = lambda: Worker(self._setup, self._task, self._try + 1)  # noqa: E731
            self._setup.world.after(self._draw.random() * 20, again)

    def _main(self) -> None:
        if self._try > 1:
            with suppress(*EXPECTED):
                for held in self._behaviour.insist(self._one.held_by_task):
                    self._take(self._behaviour.resume(held.key, Fence(held.token, held.nonce), watched=0.6))
        idle = 0.0
        while self._setup.running:
            self._clock.sleep(self._draw.random() * (1 + idle))
            with suppress(*EXPECTED):
                lease = self._next()
                idle = 0.0 if lease else min(2 * idle + 5, 60)
                self._take(lease)

    def _next(self) -> Lease | None:
        if self._setup.taken and self._draw.random() < 0.25:
            return self._behaviour.want(self._draw.choice(self._setup.taken))
        return self._behaviour.acquire(lambda: self._draw.choice(self._setup.keys))

    def _take(self, lease: Lease | None) -> None:
        if lease is None:
            return
        self._setup.taken.append(lease.key)
        if self._draw.random() < 0.2:
            self._hand_over(lease)
        else:
            self._behaviour.work(lease)

    def _hand_over(self, lease: Lease) -> None:
        """Start a driver, sometimes a second one; end the tenure for it when it seems to be dead."""
        driver = self._drive(lease)
        if self._draw.random() < 0.2:
            self._clock.sleep(self._draw.random() * 5)
            self._drive(lease)
        for _ in range(20):
            self._clock.sleep(self._draw.random() * self._setup.habits.pace * 2)
            if not driver.alive or self._draw.random() < 0.1:
                break
        if self._draw.random() < 0.7:
            self._behaviour.end_for_driver(lease)
        elif self._draw.random() < 0.5:  # as if there were no driver; refused if it has begun
            self._behaviour.insist(lambda: self._one.give_up(lease))

    def _drive(self, lease: Lease) -> Process:
        process, one, clock = self._setup.start(self._task, self._try)
        behaviour = Behaviour(one, clock, self._draw, self._setup.habits)

        def drive() -> None:
            with suppress(*EXPECTED):
                behaviour.work(behaviour.insist(lambda: one.begin(lease.key, lease.fence)))

        process.spawn(drive)
        return process


class Restarted:
    """A process that does one thing again and again, and is started anew when it is killed.

    :param pause: seconds between two times at most.
    """

    pause = 30.0

    def __init__(self, setup: Setup, task: str) -> None:
        self._setup, self._task, self._draw = setup, task, setup.draw
        process, self._one, self._clock = setup.start(task)
        process.when_killed = self._again
        process.spawn(self._main)

    def _again(self) -> None:
        if self._setup.running:
            self._setup.world.after(self._draw.random() * 10, lambda: type(self)(self._setup, self._task))

    def _main(self) -> None:
        while self._setup.running:
            with suppress(*EXPECTED):
                self._do()
            self._clock.sleep(self._draw.random() * self.pause)

    def _do(self) -> None:
        raise NotImplementedError


class Sweeper(Restarted):
    """The sensor."""

    pause = 60.0

    def _do(self) -> None:
        self._one.sweep(limit=self._draw.choice((1, 3, 1000)))


class Reader(Restarted):
    """Somebody who looks."""

    pause = 60.0

    def _do(self) -> None:
        self._one.partition(self._draw.choice(self._setup.keys))
        self._one.global_state()


class Person(Restarted):
    """Somebody who acts on what is seen."""

    pause = 60.0

    def _do(self) -> None:
        self._one.act(self._draw.choice(ACTIONS), self._draw.choice(self._setup.keys))


class Pauser(Restarted):
    """Somebody who pauses the source, for a while, or for somebody else to resume."""

    pause = 240.0

    def _do(self) -> None:
        self._one.pause()
        self._clock.sleep(self._draw.random() * 120)
        if self._draw.random() < 0.8:
            self._one.resume()


class SupplierNode(Restarted):
    """A node that runs the supplier, whose listing grows from run to run."""

    pause = 120.0

    def _do(self) -> None:
        self._one.run_supplier(self._list)

    def _list(self, state: dict[str, Any]) -> Iterator[str | Checkpoint]:
        known = self._setup.keys[: self._draw.randint(1, len(self._setup.keys))]
        again = self._draw.random() < 0.2  # lists everything anew: what exists stays, what has gone comes back
        for item in known if again else listed(known, state):
            if self._draw.random() < 0.1:
                self._clock.sleep(self._draw.random() * self._setup.settings.ownership_timeout.total_seconds() * 2)
            yield item
            if not again and self._draw.random() < 0.2:
                yield Checkpoint({"cursor": known.index(item) + 1})


def listed(known: list[str], state: dict[str, Any]) -> Iterator[str]:
    """Yield what is new, and remember how far it went: a supplier that is a function of its state and its listing."""
    place = state.get("cursor", 0)
    yield from known[place:]
    state["cursor"] = max(place, len(known))


class Nature:
    """Jumps of clocks, outages of the store, items that vanish."""

    def __init__(self, setup: Setup, task: str) -> None:
        self._setup, self._draw = setup, setup.draw
        self._deeds: dict[Fault, Callable[[], bool]] = {
            Fault.CLOCK: self._jump,
            Fault.OUTAGE: self._silence,
            Fault.ITEM_GONE: self._remove,
        }
        self._next()

    def _next(self) -> None:
        self._setup.world.after(self._draw.random() * 60, self._do)

    def _do(self) -> None:
        if not self._setup.running:
            return
        [fault] = self._draw.choices(list(self._deeds), (6, 2, 1))
        if self._setup.weather.allows(fault) and self._deeds[fault]():
            self._setup.weather.count(fault)
        self._next()

    def _jump(self) -> bool:
        _, _, one = self._draw.choice(self._setup.started)
        clock = one._core.clock
        assert isinstance(clock, ProcessClock)
        clock.error += timedelta(hours=self._draw.uniform(-24, 24))
        return True

    def _silence(self) -> bool:
        self._setup.network.silent_until = self._setup.world.time + self._draw.uniform(1, 90)
        return True

    def _remove(self) -> bool:
        """Remove an item; what is under way to it is too old by then, as the protocol asks of every TTL."""
        key = self._draw.choice(self._setup.keys)
        self._setup.network.drop_all()
        if not self._setup.store.remove(SOURCE_ID, key):
            return False
        made = self._setup.log.call("nature", Kind.VANISH, key, None, {})
        self._setup.log.answer(made, Told.OK, {})
        return True


class Finisher:
    """The one who is left when the faults have ended: brings everything to an end, and reads it."""

    ROUNDS = 200

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        process, self._one, self._clock = setup.start("finisher")
        process.spawn(self._main)

    def _main(self) -> None:
        if self._one.coordinator.pausing.current_pause().paused:
            self._one.resume()
        while not self._one.run_supplier(lambda state: listed(self._setup.keys, state)).ran:
            self._clock.sleep(30)
        for _ in range(self.ROUNDS):
            if bring_to_an_end(self._one):
                self._read()
                self._setup.finished = True
                return
            self._clock.sleep(30)

    def _read(self) -> None:
        for key in self._setup.keys:
            self._one.partition(key)
            self._one.published(key)


ROLES: Final[dict[str, Callable[[Setup, str], object]]] = {
    "worker": Worker,
    "supplier": SupplierNode,
    "sweeper": Sweeper,
    "person": Person,
    "pauser": Pauser,
    "reader": Reader,
    "nature": Nature,
}


def start_all(setup: Setup) -> None:
    """Start the processes of a run."""
    for name in setup.tasks:
        ROLES[name.rstrip("0123456789")](setup, name)
