"""This package on any store, through the coordinator that everybody uses."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from math import inf

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.stores import PartitionStore, open_store

SOURCE, OWNER = "flights", "h/d/r/t/0/1"
_HINTS = 1_000


class Ours:
    """Acquires and completes.

    :param url: of a store that :meth:`fill` has filled, or the open store.
    :param mode: ``queued`` acquires the first in the order, ``hinted`` what a sensor has listed, ``fused`` completes
        and acquires the next in one step, ``acquired`` leaves the completing to :meth:`settle`,
        ``waiting`` is ``queued`` and keeps the longest time of one call, ``renewed`` renews one lease, ``closed``
        closes what it acquires for an hour, ``created`` creates.
    :param hints: how many the sensor lists.
    :param remembering: whether each tenure becomes a row of the history.
    :param unhurried: nothing counts as slow, so that what is sent does not depend on how busy the machine is.
    """

    def __init__(
        self,
        url: str | PartitionStore,
        mode: str,
        hints: int = 0,
        *,
        remembering: bool = True,
        unhurried: bool = False,
    ) -> None:
        if not remembering and isinstance(url, str):
            url = f"{url}{'&' if '?' in url else '?'}history_retention=off"
        self._store = open_store(url)
        if unhurried and (used_up := getattr(self._store, "_used_up", None)):  # PostgreSQL's
            used_up.slow = inf
        self._coordinator = SourceCoordinator(self._store, SOURCE, OWNER)
        self._hints = iter(self._coordinator.claimable(limit=hints) if hints else ())
        self._held: Lease | None = None
        self._open: list[Lease] = []
        self._made = 0
        self.longest = 0.0
        self.cycles: Callable[[int], None] = getattr(self, f"_{mode}")
        assert self._store.store_id  # so that it has its connection before it is measured

    def take(self, way: str) -> None:
        """Go on in another way; hints are listed anew."""
        if way == "hinted":
            self._hints = iter(self._coordinator.claimable(limit=_HINTS))
        self.cycles = getattr(self, f"_{way}")

    @staticmethod
    def fill(url: str, rows: int) -> None:
        """Make the store and its partitions."""
        store = open_store(url)
        store.setup()
        keys = (f"p{number:09}" for number in range(1, rows + 1))
        assert SourceCoordinator(store, SOURCE, OWNER).create_partitions(keys).created == rows
        store.close()

    def _queued(self, count: int) -> None:
        coordinator = self._coordinator
        for _ in range(count):
            coordinator.complete(_found(coordinator.get_next_partition()))

    def _waiting(self, count: int) -> None:
        for _ in range(count):
            self._complete(_found(self._timed(self._coordinator.get_next_partition)))

    def _complete(self, lease: Lease) -> None:
        self._timed(lambda: self._coordinator.complete(lease))

    def _timed(self, call: Callable[[], Lease | None]) -> Lease | None:
        began = time.perf_counter()
        answer = call()
        self.longest = max(self.longest, time.perf_counter() - began)
        return answer

    def _hinted(self, count: int) -> None:
        coordinator = self._coordinator
        for _ in range(count):
            coordinator.complete(_found(coordinator.get_next_partition(hint=next(self._hints))))

    def _fused(self, count: int) -> None:
        coordinator = self._coordinator
        held = self._held or _found(coordinator.get_next_partition())
        for _ in range(count):
            held = _found(coordinator.complete_and_get_next(held))
        self._held = held

    def _renewed(self, count: int) -> None:
        coordinator = self._coordinator
        held = self._held or _found(coordinator.get_next_partition())
        for _ in range(count):
            held = coordinator.renew(held)
        self._held = held

    def _closed(self, count: int) -> None:
        coordinator = self._coordinator
        for _ in range(count):
            coordinator.close(_found(coordinator.get_next_partition()), reopen_after=timedelta(hours=1))

    def _created(self, count: int) -> None:
        first, self._made = self._made, self._made + count
        new = (f"q{number:09}" for number in range(first, self._made))
        assert self._coordinator.create_partitions(new).created == count

    def _acquired(self, count: int) -> None:
        coordinator, held = self._coordinator, self._open
        for _ in range(count):
            held.append(_found(coordinator.get_next_partition()))

    def settle(self) -> None:
        """Complete what was only acquired."""
        for lease in self._open:
            self._coordinator.complete(lease)
        self._open.clear()

    def close(self) -> None:
        """End the connections."""
        self._store.close()


class InMemory(Ours):
    """The same in the memory of this process, with rows of its own.

    :param url: not used: nobody else could open this store.
    :param rows: how many.
    """

    def __init__(self, url: str, rows: int) -> None:
        Ours.fill("memory://benchmark", rows)
        super().__init__("memory://benchmark", "queued")

    @staticmethod
    def fill(url: str, rows: int) -> None:
        """Make nothing: what is filled in another process is lost."""


def _found(lease: Lease | None) -> Lease:
    assert lease is not None, "there is no work left: more rows, or fewer seconds"
    return lease
