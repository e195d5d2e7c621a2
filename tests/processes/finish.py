"""The one who is left when the faults have ended: brings everything to an end, and reads it (promise L1)."""

from __future__ import annotations

import time

from airflow_coordination.testing.history import RecordedCoordinator
from tests.processes.actor import key_of
from tests.simulation.behaviour import bring_to_an_end


def finish(one: RecordedCoordinator, patience: float) -> bool:
    """Bring every partition to an end; return whether that was possible within ``patience`` seconds."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if bring_to_an_end(one):
            return True
        time.sleep(0.2)
    return False


def read_all(one: RecordedCoordinator) -> list[str]:
    """Read every partition that the supplier has listed, and what it has published; return their keys."""
    keys = [key_of(number) for number in range(one.global_state().get("cursor", 0))]
    for key in keys:
        one.partition(key)
        one.published(key)
    return keys
