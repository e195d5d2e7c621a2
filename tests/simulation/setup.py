"""The setup of one seed's run: its world, network, store and history, drawn from the seed."""

from __future__ import annotations

import random
from collections import Counter, deque
from dataclasses import replace
from datetime import timedelta

from airflow_coordination.testing.history import CountedCoordinator, MemoryLog, RecordedCoordinator
from airflow_coordination.values.names import compose_source
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.times import Randomness
from tests.simulation.behaviour import Habits
from tests.simulation.clocks import ProcessClock, VirtualCoordinator
from tests.simulation.cuts import WHOLE, Cut
from tests.simulation.faults import Weather
from tests.simulation.network import Network
from tests.simulation.stores import MakeStore
from tests.simulation.world import EPOCH, Process, World

SOURCE = "flights"
SOURCE_ID = compose_source(SOURCE, None, "PARTITION")
HOST = "host"
"""The same for all: tasks on one machine share it."""
MAX_DELAY = timedelta(seconds=120)


class Setup:
    """The world, network, store and history of one run.

    :param seed: decides everything.
    :param make_store: makes the store.
    :param cut: what is left out.
    """

    def __init__(self, seed: int, make_store: MakeStore, cut: Cut = WHOLE) -> None:
        self.seed, self.draw = seed, (draw := random.Random(seed))
        self.world = World()
        temper, gusts = draw.choice((0.3, 1.0, 1.0, 2.0)), draw.choice((0.0, 0.0, 0.3, 0.6))
        self.weather = Weather(random.Random(f"weather {seed}"), temper, cut.without, gusts)
        self.network = Network(self.world, random.Random(f"network {seed}"), self.weather)
        self.store = make_store(self.world, self.network, random.Random(f"place {seed}"))
        self.log = MemoryLog(lambda: self.world.time)
        self.keys = [f"k{number}" for number in range(draw.choice((2, 8, 30, 80)))]
        self.settings = _settings(draw)
        self.habits = _habits(draw, self.settings.ownership_timeout.total_seconds())
        self.length = self.settings.ownership_timeout.total_seconds() * 10 + 120
        self.end = EPOCH + (self.length if cut.until is None else cut.until)
        self.tasks = [name for name in _tasks(draw) if name not in cut.without]
        self.taken: deque[str] = deque(maxlen=4)
        """What workers have taken last: others may want it."""
        self.running = True
        self.finished = False
        self._starts: Counter[str] = Counter()
        self.started: list[tuple[Process, RecordedCoordinator, CountedCoordinator]] = []

    def start(
        self, task: str, tries: int = 1, source: str = SOURCE
    ) -> tuple[Process, RecordedCoordinator, ProcessClock]:
        """Start a process of a task, on the host that all share and with a wall clock of its own."""
        self._starts[task] += 1
        process = Process(self.world, f"{task}.{self._starts[task]}")
        error = timedelta(hours=self.draw.choice((0, 0, -24, 24)), seconds=self.draw.uniform(-700, 700))
        clock = ProcessClock(process, error)
        coordinator = VirtualCoordinator(
            self.store.seen_by(process),
            source,
            f"{HOST}/dag/run/{task}/0/{tries}",
            settings=self._settings_of(task),
            clock=clock,
            randomness=Randomness(self.draw),
        )
        recorded = RecordedCoordinator(coordinator, self.log, process.name)
        self.started.append((process, recorded, coordinator))
        return process, recorded, clock

    def _settings_of(self, task: str) -> Settings:
        """Return a task's own settings: its limit of lost leases travels with its leases, and no other is asked."""
        usual = self.settings.max_lost_leases
        limit = random.Random(f"limit {self.seed} {task}").choice((usual, usual, usual, 1, 2, 20))
        return replace(self.settings, max_lost_leases=limit)

    def clear(self) -> None:
        """End what still lives, and remove the store."""
        self.running = False
        for process, *_ in self.started:
            process.kill()
        self.world.run(self.world.time + 1.0)
        self.store.close()


def _tasks(draw: random.Random) -> list[str]:
    """Return who takes part: some workers, a supplier and a sweeper always, the others mostly."""
    others = ("supplier2", "sweeper2", "person", "pauser", "reader", "nature")
    workers = [f"worker{number}" for number in range(draw.randint(1, 5))]
    return [*workers, "supplier", "sweeper", *(name for name in others if draw.random() < 0.6)]


def _settings(draw: random.Random) -> Settings:
    return Settings(
        ownership_timeout=timedelta(seconds=draw.choice((5, 30, 120))),
        max_closed_count=draw.choice((None, 1, 2, 4)),
        max_failures=draw.choice((1, 3, 10)),
        max_lost_leases=draw.choice((1, 2, 5, 20)),
        retry_delay=timedelta(seconds=draw.choice((0, 5, 30))),
        max_retry_delay=MAX_DELAY,
        request_deadline=timedelta(seconds=draw.choice((3, 30))),
        brake_after=0,  # it would pause what goes on failing here, which nobody resumes
    )


def _habits(draw: random.Random, timeout: float) -> Habits:
    return Habits(
        steps=draw.choice((0, 1, 3, 6)),
        pace=timeout * draw.choice((0.02, 0.1, 0.4)),
        heartbeats=draw.choice((0.0, 0.5, 1.0)),
        endings=draw.choice(((8, 2, 1, 1), (3, 5, 1, 1), (2, 2, 3, 3), (1, 0, 0, 0))),
        reopen_after=draw.choice((1.0, 30.0, 90.0)),
    )
