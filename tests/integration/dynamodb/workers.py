"""A worker process that drains a source, and comes to harm where it is told to."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow_coordination.leases import Lease, PartitionNotOwnedError, SourceCoordinator
from airflow_coordination.stores import open_store
from tests.integration.dynamodb.table import HOST, SOURCE, block

LEASE = timedelta(seconds=3)
STEPS = 3


def coordinator(url: str, number: int) -> SourceCoordinator:
    """Return a coordinator with short leases, under the service's own clock."""
    owner = f"{HOST}/flights/scheduled__1/drain/{number}/1"
    return SourceCoordinator(open_store(url), SOURCE, owner, ownership_timeout=LEASE, max_lost_leases=20)


def drain(url: str, number: int, log: Path, harm: int | None) -> None:
    """Work until nothing is left.

    :param log: where each event becomes a line, at once.
    :param harm: a signal that this process sends itself in the middle of its third partition.
    """
    one = coordinator(url, number)
    with log.open("a") as file:

        def tell(event: str, lease: Lease, **more: Any) -> None:
            line = {"event": event, "worker": number, "key": lease.key, "token": lease.fence.token, **more}
            file.write(json.dumps(line) + "\n")
            file.flush()

        taken = 0
        while (lease := _next(one)) is not None:
            taken += 1
            try:
                _work(one, lease, tell, harm if taken == 3 else None)
            except PartitionNotOwnedError as error:
                tell("lost", lease, ending=str(error.ending))


def _next(one: SourceCoordinator) -> Lease | None:
    """Return a lease; wait while others hold what is left."""
    while (lease := one.get_next_partition()) is None:
        if one.looking.outlook().assigned == 0:
            return None
        time.sleep(0.2)
    return lease


def _work(one: SourceCoordinator, lease: Lease, tell: Callable[..., None], harm: int | None) -> None:
    begun = lease.partition.progress_state or 0
    tell("begun", lease, at=begun)
    for step in range(begun, STEPS):
        lease = one.save_progress_state(lease, step + 1, [block(f"{lease.key}-{step}")])
        if harm is not None and step == begun:
            tell("harmed", lease, at=step + 1)
            os.kill(os.getpid(), harm)
    one.complete(lease)
    tell("completed", lease)


KILL, STOP = int(signal.SIGKILL), int(signal.SIGSTOP)
