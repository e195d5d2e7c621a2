"""Where this process is: what tells it from any other one, on whatever machine."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from airflow_coordination.leases.fence import Place

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_DIGITS: Final = 8
_STARTED: Final = 19
"""The place of a process's start in ``/proc/…/stat``, after the name in parentheses: clock ticks since the boot."""


def whereabouts(airflow: str | None = None) -> Place:
    """Return the place of this process. Of a machine that does not say it as Linux does, the process id alone is known.

    :param airflow: the name of the Airflow that it belongs to.
    """
    process = os.getpid()
    try:
        namespace = os.readlink("/proc/self/ns/pid")  # containers share their machine's boot, but not its process ids
        boot = hashlib.sha256(f"{_BOOT.read_text().strip()} {namespace}".encode()).hexdigest()[:_DIGITS]
        started = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[_STARTED]
    except (OSError, IndexError):
        return Place(airflow, None, str(process))
    return Place(airflow, boot, f"{process}.{started}")
