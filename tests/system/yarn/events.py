"""What can happen to a task whose driver YARN runs; each is a DAG with one mapped task and a source of its own."""

from __future__ import annotations

from typing import Final

TASK_KILLED, DRIVER_KILLED, CLEARED = "yarn_task_killed", "yarn_driver_killed", "yarn_cleared"
LATE_DRIVER, CLIENT, HOST_LOST = "yarn_late_driver", "yarn_client", "yarn_host_lost"
DEPLOY_MODES: Final = {
    TASK_KILLED: "cluster",
    DRIVER_KILLED: "cluster",
    CLEARED: "cluster",
    LATE_DRIVER: "cluster",
    CLIENT: "client",
    HOST_LOST: "cluster",
}
OWNERSHIP_TIMEOUT: Final = 120
"""Seconds: more than YARN takes to miss a host and to start another driver."""
