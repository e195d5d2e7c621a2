"""Waiting for the end of a pause that ends soon by itself, as the duty ``watchLosses`` sets it (decision 139)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.values.input_errors import shown

log = logging.getLogger(__name__)

PATIENCE: Final = timedelta(minutes=5)
"""A pause that ends later is not waited for: the next run of the DAG, or the next drain, comes by itself."""
LOOK_AGAIN: Final = 5.0
"""Seconds after which it is looked whether somebody has lifted the pause, or has paused the source for good."""


def ends_soon(coordinator: SourceCoordinator) -> bool:
    """Return whether a source is paused now, until a time that comes within :data:`PATIENCE`."""
    return _seconds(coordinator, coordinator.pausing.current_pause()) is not None


def patiently(
    coordinator: SourceCoordinator,
    acquire: Callable[[], Lease | None],
    *,
    sleep: Callable[[float], object] = time.sleep,
) -> Lease | None:
    """Return what can be acquired after a pause that ends soon, ``None`` where none holds the source back.

    To be called when nothing could be acquired. A pause of a person that has no end, or ends later, is not waited for.

    :param acquire: returns a lease, or ``None``.
    :param sleep: waits for seconds; what it raises ends the waiting.
    """
    lease: Lease | None = None
    while lease is None and _waited_out(coordinator, sleep):
        lease = acquire()
    return lease


def _waited_out(coordinator: SourceCoordinator, sleep: Callable[[float], object]) -> bool:
    """Wait while a pause lasts that ends soon; return whether there was one, and the source is paused no more."""
    pause = coordinator.pausing.current_pause()
    if _seconds(coordinator, pause) is None:
        return False
    log.info("Source %s has nothing to acquire until its pause ends: it was %s", shown(coordinator.source), pause)
    while (left := _seconds(coordinator, pause)) is not None:
        sleep(min(left, LOOK_AGAIN))
        pause = coordinator.pausing.current_pause()
    return not pause.paused


def _seconds(coordinator: SourceCoordinator, pause: Pause) -> float | None:
    """Return for how long a pause lasts, ``None`` for none, and for one that is not worth waiting for."""
    if not pause.paused or pause.until is None:
        return None
    left = pause.until - coordinator.store.now()
    return max(0.0, left.total_seconds()) + 0.001 if left <= PATIENCE else None
