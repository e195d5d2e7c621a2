"""A worker without Spark: holds what its balance gives it until a file says that it may end.

It hands over what is wanted as soon as it hears of it, unless a file ``name.deaf`` is there.
"""

import sys
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from airflow_coordination.leases import PartitionNotOwnedError, Settings, SourceCoordinator
from airflow_coordination.spark.balance import Balance
from airflow_coordination.stores import open_store
from airflow_coordination.values.settings import Balancing


class Worker:
    """The leases of one process, each kept alive."""

    def __init__(self, url: str, name: str, signs: Path, capacity: int, timeout: float) -> None:
        self.store = open_store(url)
        self.name, self.signs = name, signs
        settings = Settings(ownership_timeout=timedelta(seconds=timeout), max_lost_leases=1_000)
        self.coordinator = SourceCoordinator(self.store, "flights", name, settings=settings)
        self.balance = Balance(self.coordinator, capacity, Balancing(balance_interval=timedelta(seconds=timeout / 4)))
        self.beats = []

    def hold(self, lease):
        self.beats.append((lease, self.coordinator.heartbeat(lease).__enter__()))

    def work(self) -> None:
        """Look, take, hand over, until the file is there."""
        while not (self.signs / f"{self.name}.end").exists():
            self._let_go()
            if not self.balance.next_look:
                for _ in range(self.balance.room(len(self.beats))):
                    if (lease := self.coordinator.get_next_partition()) is not None:
                        self.hold(lease)
                while (lease := self.balance.overdue()) is not None:
                    self.hold(lease)
            time.sleep(0.02)
        for lease, beat in self.beats:
            beat.stop()
            self.coordinator.give_up(lease)
        self.balance.leave()
        self.store.close()

    def _let_go(self) -> None:
        deaf = (self.signs / f"{self.name}.deaf").exists()
        for lease, beat in list(self.beats):
            if beat.lost is None and (not lease.wanted or deaf):
                continue
            beat.stop()
            self.beats.remove((lease, beat))
            if beat.lost is None:
                with suppress(PartitionNotOwnedError):
                    self.coordinator.workers.hand_over(lease)


if __name__ == "__main__":
    worker = Worker(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
    (worker.signs / f"{worker.name}.ready").touch()
    while not (worker.signs / "go").exists():
        time.sleep(0.01)
    worker.work()
