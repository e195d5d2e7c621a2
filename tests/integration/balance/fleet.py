"""The workers of one source, each a process of its own."""

import subprocess
import sys
import time
from pathlib import Path

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.spark.balance import look_at
from airflow_coordination.stores import open_store
from tests.integration.spark.drivers import eventually

WORKER = Path(__file__).with_name("worker.py")


class Fleet:
    """Workers on a store.

    :param leases: how many partitions there are.
    :param capacity: how many leases each worker can hold.
    :param timeout: seconds that a lease lasts; a worker looks at the others four times as often.
    """

    def __init__(self, url, signs, *, leases=12, capacity=12, timeout=4):
        self.url, self.signs, self.capacity, self.timeout = url, signs, capacity, timeout
        self.store = open_store(url)
        self.store.setup()
        self.coordinator = SourceCoordinator(self.store, "flights", "watches")
        self.coordinator.create_partitions([f"{number:02}" for number in range(leases)])
        self.processes = {}

    def start(self, *names):
        """Start workers, and wait until they are at the line; a first ``go`` lets them begin."""
        for name in names:
            numbers = [str(self.capacity), str(self.timeout)]
            self.processes[name] = subprocess.Popen([sys.executable, WORKER, self.url, name, self.signs, *numbers])
        eventually(lambda: all((self.signs / f"{name}.ready").exists() for name in names))

    def go(self):
        (self.signs / "go").touch()

    def be_deaf(self, name):
        """Let a worker ignore what others want."""
        (self.signs / f"{name}.deaf").touch()

    def held(self):
        return dict(look_at(self.coordinator).held)

    def settle(self, **expected):
        """Wait until each worker holds so many leases."""
        eventually(lambda: self.held() == expected, 120)

    def even(self, workers, leases):
        """Wait until all leases are held, by so many workers, and as many by each; return the seconds."""
        began = time.monotonic()

        def is_even():
            held = self.held().values()
            return len(held) == workers and sum(held) == leases and max(held) - min(held) <= 1

        eventually(is_even, 300)
        return time.monotonic() - began

    def end(self, name):
        (self.signs / f"{name}.end").touch()
        assert self.processes.pop(name).wait(60) == 0

    def kill(self, name):
        process = self.processes.pop(name)
        process.kill()
        process.wait(60)

    def outcomes(self):
        """Return how each tenure has ended that has."""
        return [str(ending.outcome) for each in self.coordinator.partitions() for ending in each.endings]

    def close(self):
        for name in list(self.processes):
            self.kill(name)
        self.store.close()
