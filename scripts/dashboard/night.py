"""A night of three sources, minute by minute in virtual time: what ``airflow coordination metrics`` says in each.

The coordinator and the store (in memory) are the real ones, only their clock is moved. A load of 400 partitions is
paused for half an hour and has 14 broken ones; a report waits for a parked load; one of the invoices is held all night.
"""

from __future__ import annotations

import io
import logging
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from datetime import datetime, timedelta
from random import Random

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.subcommands.metrics import metrics
from airflow_coordination.leases import PartitionIdentifier, Settings, SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.outputs import Block
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock

BEGIN = datetime.fromisoformat("2026-11-01T22:00:00+00:00")
MINUTES = 300
_LOAD, _WORKERS, _PAUSE = 400, 8, range(150, 181)
_LEASE = timedelta(minutes=10)


def minutes() -> Iterator[tuple[datetime, str]]:
    """Yield each minute and the metrics as they are printed then."""
    clock = FakeClock(BEGIN)
    night = _Night(clock)
    context = CommandContext(lambda: night.store)
    args = Namespace(source=None, partition_prefix=None, label=None)
    for minute in range(MINUTES):
        with _quiet(), redirect_stdout(io.StringIO()) as printed:
            night.work(minute)
            metrics(context, args)
        yield clock.now(), printed.getvalue()
        clock.advance(timedelta(minutes=1))


@contextmanager
def _quiet() -> Iterator[None]:
    """Say nothing of the product's warnings; whoever takes a minute hears their own."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


class _Night:
    """Who does what; the same each time it is made.

    :param clock: moved by who calls.
    """

    def __init__(self, clock: FakeClock) -> None:
        self.store, self._chance = InMemoryStore(clock), Random(7)
        told = Settings(ownership_timeout=_LEASE, max_failures=2, retry_delay=timedelta(minutes=5), brake_after=0)
        self._flights, self._invoices, self._reports = (
            SourceCoordinator(self.store, source, "worker", settings=told, clock=clock)
            for source in ("flights", "invoices", "reports")
        )
        self._flights.create_partitions(f"2013/{number:03}" for number in range(_LOAD))
        self._reports.create_partitions(["load", PartitionIdentifier("report", parents=["load"])])
        self._invoices.create_partitions(f"{number:03}" for number in range(60))
        self._held: list[tuple[Lease, int]] = []
        self._stuck = self._invoices.get_next_partition()

    def work(self, minute: int) -> None:
        """Let everybody do what falls into a minute."""
        if minute == _PAUSE.start:
            self._flights.pausing.pause(by="carla", why="the cluster is upgraded")
        if minute == _PAUSE.stop:
            self._flights.pausing.resume(by="carla", why="upgraded")
        if minute in (30, 36) and (lease := self._reports.get_next_partition()):
            self._reports.fail(lease, "the file has no header")
        if self._stuck is not None:
            self._stuck = self._invoices.renew(self._stuck) or self._stuck
        if minute % 6 == 0 and (lease := self._invoices.get_next_partition()):
            self._invoices.complete(lease, [Block("clean", f"/out/{minute}", f"i{minute}", 1_200)])
        for coordinator in (self._flights, self._invoices, self._reports):
            coordinator.sweep()
        self._load(minute)

    def _load(self, minute: int) -> None:
        due = [each for each, until in self._held if until <= minute]
        self._held = [(self._flights.renew(each) or each, until) for each, until in self._held if until > minute]
        for lease in due:
            number = int(lease.key[-3:])
            if number % 28 == 27:
                self._flights.fail(lease, "line 7 is no JSON")
            else:
                rows = 9_000 + self._chance.randrange(3_000)
                self._flights.complete(lease, [Block("clean", f"/out/{lease.key}", f"f{lease.key}", rows)])
        while len(self._held) < _WORKERS and (lease := self._flights.get_next_partition()):
            self._held.append((lease, minute + self._chance.randrange(3, 9)))
