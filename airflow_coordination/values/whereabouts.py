"""Where a process is, and whether one that was on this machine is gone."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from airflow_coordination.values.fence import Owner, Place

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_DIGITS: Final = 8
_STATE, _THREADS, _STARTED = 0, 17, 19
"""Places in ``/proc/…/stat``, after the name in parentheses. A process's start: clock ticks since the boot."""


def whereabouts(airflow: str | None = None) -> Place:
    """Return the place of this process. Of a machine that does not say it as Linux does, the process id alone is known.

    :param airflow: the name of the Airflow that it belongs to.
    """
    process = os.getpid()
    try:
        boot, started = _boot(), _told("self")[_STARTED]
    except (OSError, IndexError):
        return Place(airflow, None, str(process))
    return Place(airflow, boot, f"{process}.{started}")


def is_gone(owner: str | None) -> bool:
    """Return whether who holds a lease was a process of this machine that is surely gone (decision 144).

    It was among the same process ids, since the same boot. One that nobody has waited for yet is gone; one whose id
    another process has by now is, too. No clock is asked. Of another machine or container nothing is known but the
    lease. A task of Airflow is never said to be gone: its driver may live elsewhere, and its next try takes over at
    once.

    :param owner: as the partition's ``owner``, which names where it is (decision 88).
    """
    who = Owner(owner or "")
    return who.instance is None and _is_gone(who.place)


def _is_gone(place: Place) -> bool:
    number, _, started = (place.process or "").partition(".")
    try:
        tells = number.isascii() and number.isdigit() and int(number) > 0 and started
        if not tells or place.boot is None or place.boot != _boot():
            return False
        os.kill(int(number), 0)  # also says so of processes that /proc hides from this user
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    except (OSError, OverflowError):
        return False
    try:
        told = _told(number)
        return told[_STARTED] != started or (told[_STATE] in "ZX" and int(told[_THREADS]) <= 1)
    except (OSError, IndexError, ValueError):
        return False


def _boot() -> str:
    namespace = os.readlink("/proc/self/ns/pid")  # containers share their machine's boot, but not its process ids
    return hashlib.sha256(f"{_BOOT.read_text().strip()} {namespace}".encode()).hexdigest()[:_DIGITS]


def _told(process: str) -> list[str]:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
