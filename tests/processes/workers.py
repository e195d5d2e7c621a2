"""The roles of a run, each a process: workers and their drivers, a supplier, a sweeper who also acts and looks.

What they do with their leases is what the simulation's processes do (:mod:`tests.simulation.behaviour`).
"""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from airflow_coordination.leases import Checkpoint, Fence, Lease
from tests.processes.actor import READY, Actor, ProcessSpec, address, key_of
from tests.simulation.behaviour import EXPECTED
from tests.simulation.processes import ACTIONS

PAGE: Final = 16


class Worker(Actor):
    """A mapped task with its retries: takes partitions, works itself or hands them to a driver process."""

    def main(self) -> None:
        """Go on with what an earlier try holds, then work."""
        if self.spec.tries > 1:
            with suppress(*EXPECTED):
                for held in self.behaviour.insist(self.one.held_by_task):
                    self._take(self.behaviour.resume(held.key, Fence(held.token, held.nonce), watched=0.3))
        super().main()

    def do(self) -> None:
        """Take a partition to some end; now and then one that another holds, after it was asked for."""
        wanted = self.draw.random() < 0.1
        lease = self.behaviour.want(self.hot_key()) if wanted else self.behaviour.acquire(self.hot_key)
        if lease is None:
            self.clock.sleep(self.draw.random())
        self._take(lease)

    def _take(self, lease: Lease | None) -> None:
        if lease is None:
            return
        if self.draw.random() < 0.04:
            self._hand_over(lease)
        else:
            self.behaviour.work(lease)

    def _hand_over(self, lease: Lease) -> None:
        """Start a driver, sometimes a second one; end the tenure for it when it takes too long."""
        self._drive(lease)
        if self.draw.random() < 0.3:
            self._drive(lease)
        self.clock.sleep(10 * self.draw.random())
        if self.draw.random() < 0.5:
            self.behaviour.end_for_driver(lease)

    def _drive(self, lease: Lease) -> None:
        """Ask whoever started this process to start a driver; drivers outlive their tasks."""
        errand = (lease.key, lease.fence.token, lease.fence.nonce)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line, suppress(OSError):
            line.sendto(json.dumps([self.spec.task, self.spec.tries, errand]).encode(), address(self.spec.directory))


class Driver(Actor):
    """A Spark driver: goes on with the tenure that its task handed over."""

    def main(self) -> None:
        """Work on one partition."""
        assert self.spec.errand is not None
        key, token, nonce = self.spec.errand
        with suppress(*EXPECTED):
            self.behaviour.work(self.behaviour.insist(lambda: self.one.begin(key, Fence(token, nonce))))


class Supplier(Actor):
    """Runs the supplier, whose listing grows as the work is done."""

    def do(self) -> None:
        """List some more when little is left."""
        if len(self.one.claimable(limit=READY)) < READY:
            self.one.run_supplier(self._list)
        self.clock.sleep(10 * self.draw.random())

    def _list(self, state: dict[str, Any]) -> Iterator[str | Checkpoint]:
        first = state.get("cursor", 0)
        for number in range(first, first + PAGE):
            yield key_of(number)
            if self.draw.random() < 0.05:
                yield Checkpoint({"cursor": number + 1})
        state["cursor"] = first + PAGE


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


def run_process(spec: ProcessSpec) -> None:
    """Be one process from its start to its end, if nobody ends it before."""
    logging.getLogger("airflow_coordination").setLevel(logging.ERROR)  # missed renewals are what the run is about
    actor = ROLES[spec.role](spec)
    actor.main()
    unfinished = spec.counts.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(actor.coordinator.short_counts()))
    unfinished.rename(spec.counts)
