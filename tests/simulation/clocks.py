"""What processes take for the time: their own wall clocks may be anywhere, the monotonic one only counts."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.testing.history import CountedCoordinator
from tests.simulation.world import EPOCH, Process, World

START = datetime.fromtimestamp(EPOCH, UTC)


class WorldClock:
    """The right time: the store's."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now(self) -> datetime:
        """Return the true time."""
        return START + timedelta(seconds=self._world.time - EPOCH)

    def monotonic(self) -> float:
        """Return the seconds since the beginning."""
        return self._world.time - EPOCH

    def sleep(self, seconds: float) -> None:
        """Refuse: stores do not wait."""
        raise AssertionError("a store does not sleep")

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Refuse: stores do not wait."""
        raise AssertionError("a store does not wait")


class ProcessClock(WorldClock):
    """A process's clock.

    :param process: sleeps.
    :param error: how far its wall clock is off; may be changed at any time.
    """

    def __init__(self, process: Process, error: timedelta = timedelta(0)) -> None:
        super().__init__(process.world)
        self.process, self.error = process, error

    def now(self) -> datetime:
        """Return what the process takes for the time."""
        return super().now() + self.error

    def sleep(self, seconds: float) -> None:
        """Let the calling thread wait."""
        self.process.sleep(seconds)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Let the calling thread wait; who sets the event is seen at the end."""
        if not event.is_set():
            self.process.sleep(seconds)
        return event.is_set()


class VirtualHeartbeat(Heartbeat):
    """The heartbeat as it is, its two threads in the world."""

    _clock: ProcessClock

    def __enter__(self) -> VirtualHeartbeat:
        """Start the renewals."""
        self._clock.process.spawn(self._run)
        return self

    def _start_guard(self) -> None:
        self._clock.process.spawn(self._guard)

    def stop(self) -> None:
        """End the renewals; the threads see it when they wake."""
        self._stop.set()


class VirtualCoordinator(CountedCoordinator):
    """The coordinator as it is, its heartbeats in the world."""

    beats = VirtualHeartbeat
