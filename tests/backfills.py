"""A month of days that publish lines, and what is run again of them in branches; readers are the ones of a dataset."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from airflow_coordination.leases import Lease, SourceCoordinator
from airflow_coordination.outputs import published_manifests
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.values.blocks import Block, Mode
from tests.upkeep import DATASET, SOURCE, Dataset, lines


class Month(Dataset):
    """Partitions named after days, each of which publishes rows that name it.

    :param store: which may have branches from now on.
    :param root: of all output.
    """

    def __init__(self, store: PartitionStore, root: Path | str) -> None:
        super().__init__(store, root)
        enabling = parts_of(store).enabling
        assert enabling is not None
        enabling.enable_branches()
        self.c: SourceCoordinator = self.ingest()

    def create(self, *keys: str, branch: int | None = None) -> None:
        """Create partitions."""
        self.c.create_partitions(keys, branch=branch)

    def held(self, key: str) -> Lease:
        """Acquire one."""
        lease = self.c.acquire_partition(key)
        assert lease is not None, f"{key} cannot be had"
        return lease

    def work(self, key: str, rows: Sequence[Any], mode: Mode = "replace", **told: Any) -> Lease:
        """Acquire one, publish rows, complete it."""
        lease = self.held(key)
        self.c.complete(lease, [self.counted(lease, rows, mode)], **told)
        return lease

    def counted(self, lease: Lease, rows: Sequence[Any], mode: Mode = "replace") -> Block:
        """Write a block that knows how many rows it has."""
        return replace(self.block(lease, rows, mode), rows=len(rows))

    def filled(self, *days: int) -> list[str]:
        """Create and publish days, each with its interval, and return their keys."""
        keys = [f"2013-01-{day:02}" for day in days]
        self.create(*keys)
        for key in keys:
            self.work(key, [f"{key} old"], interval=f"{key}/P1D")
        return keys

    def read(self, branch: int | None = None) -> Counter[str]:
        """Return what readers find, or would find if a branch were published."""
        found = published_manifests(self.store, SOURCE, DATASET, branch=branch)
        return Counter(line for manifest in found for line in lines(manifest))


class Poller:
    """A reader that polls; it keeps each answer that differs from the one before."""

    def __init__(self, month: Month) -> None:
        store = open_store(month.store.reference)  # a reader has connections of its own
        self._month, self._over = Month(store, month.root), threading.Event()
        self.seen: list[Counter[str]] = []
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                self.look()
        except BaseException as error:
            self.error = error

    def look(self) -> None:
        found = self._month.read()
        if not self.seen or found != self.seen[-1]:
            self.seen.append(found)

    def __enter__(self) -> Poller:
        self.look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(60)
        if self.error:
            raise self.error
        self.look()


def parts(found: Counter[str], late: set[str]) -> tuple[Counter[str], set[str]]:
    """Return what a reader has found of the month, and which late rows; each is there once."""
    assert all(found[row] <= 1 for row in late), found
    return Counter({row: count for row, count in found.items() if row not in late}), {row for row in late if found[row]}
