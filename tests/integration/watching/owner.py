"""An owner of one partition, a process of its own: ``URL OWNER TIMEOUT GRACE SIGNS``.

It renews until the file ``go`` is there, and completes then; exit code 3 where it has lost its lease before.
"""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from pathlib import Path

from airflow_coordination.leases import Settings, SourceCoordinator
from airflow_coordination.stores import open_store


def main(url: str, owner: str, timeout: str, grace: str, signs: str) -> int:
    """Hold what can be acquired first."""
    settings = Settings(
        ownership_timeout=timedelta(seconds=float(timeout)), reassign_grace=timedelta(seconds=float(grace))
    )
    coordinator = SourceCoordinator(open_store(url), "flights", owner, settings=settings)
    lease = coordinator.get_next_partition()
    assert lease is not None
    with coordinator.heartbeat(lease) as heartbeat:
        while not (Path(signs) / "go").exists():
            if heartbeat.lost is not None:
                return 3
            time.sleep(0.05)
    coordinator.complete(lease)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
