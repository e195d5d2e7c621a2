"""A worker of whatever version of the package it finds, at work until it is told to stop and nothing is left.

Usage: ``python worker.py URL NAME STOP``, ``STOP`` being a file whose existence says so. Each event is a line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from airflow_coordination.leases import Block, Lease, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.schema import SCHEMA_VERSION

SOURCE = "upgraded"
PASSES = 2


def tell(event: str, **more: Any) -> None:
    """Say what has happened, at once."""
    print(json.dumps({"event": event, "schema": SCHEMA_VERSION, **more}), flush=True)


def block(lease: Lease, step: str) -> Block:
    """Return a block of this pass that no other process could have written."""
    digest = f"{lease.key}.{lease.partition.closed_count}.{step}#{lease.fence.nonce}"
    return Block("clean", f"/out/{digest}", digest, 1, 10)


def work(one: SourceCoordinator, lease: Lease) -> None:
    """Make one pass over a partition; its progress names the versions that have worked on it."""
    versions = [*(lease.partition.progress_state or []), SCHEMA_VERSION]
    lease = one.renew(one.save_progress_state(lease, versions, [block(lease, "saved")]))
    one.close(lease, timedelta(0), versions, [block(lease, "last")])
    tell("worked", key=lease.key, versions=versions, saved_op=getattr(one.partition(lease.key), "saved_op", None))


def main(url: str, name: str, stop: Path) -> None:
    """Work on what there is, and create a partition when there is nothing; after the stop, work on what is left."""
    one = SourceCoordinator(open_store(url), SOURCE, f"host/dag/run/{name}/0/1", max_closed_count=PASSES)
    tell("started", store=one.store.store_id)
    numbers = count()
    while (lease := one.get_next_partition()) is not None or not done(one, stop):
        if lease is not None:
            work(one, lease)
        elif not stop.exists():
            one.create_partitions([f"{name}-{next(numbers)}"])
    tell("ended", refusals=one.refusals)


def done(one: SourceCoordinator, stop: Path) -> bool:
    """Return whether the load has stopped and nothing is left, having waited a little where others hold the rest."""
    if not stop.exists():
        return False
    left = one.store.outlook(f"{SOURCE}|PARTITION")  # versions before know no `looking`
    if left.assigned:
        time.sleep(0.05)
    return not (left.claimable or left.assigned or left.waiting)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
