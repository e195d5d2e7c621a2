"""A worker without Spark: holds what its balance gives it until a file says that it may end."""

import sys
import time
from datetime import timedelta
from pathlib import Path

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.spark.balance import Balance
from airflow_coordination.stores import open_store


def work(url: str, name: str, signs: Path) -> None:
    """Take leases up to the share, and keep them alive; give all back when the file ``name.end`` is there."""
    store = open_store(url)
    coordinator = SourceCoordinator(store, "flights", name, ownership_timeout=timedelta(seconds=4))
    balance = Balance(coordinator, 12, tick=1)
    beats = []
    (signs / f"{name}.ready").touch()
    while not (signs / "go").exists():
        time.sleep(0.01)
    while not (signs / f"{name}.end").exists():
        if not balance.next_look:
            for _ in range(balance.room(len(beats))):
                if (lease := coordinator.get_next_partition()) is not None:
                    beats.append((lease, coordinator.heartbeat(lease).__enter__()))
        time.sleep(0.05)
    for lease, beat in beats:
        beat.stop()
        coordinator.give_up(lease)
    balance.leave()
    store.close()


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
