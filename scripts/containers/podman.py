"""Debian's podman as the checks of containers call it, and waiting for what is in them."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

CHECKOUT: Final = Path(__file__).resolve().parents[2]
STAND_INS: Final = CHECKOUT / "docker/stand-ins"
SECONDS: Final = 1200.0
ENVIRONMENT: Final = {
    **os.environ,
    "CONTAINERS_CONF": str(STAND_INS / "containers.conf"),
    "BUILDAH_ISOLATION": "chroot",
}


class CheckError(Exception):
    """Something is not as it should be; the message says what was waited for, and how it was."""


def run(*command: object) -> str:
    """Run a command and return what it says.

    :raises CheckError: with the end of what it said, when it fails.
    """
    said = ask(*command)
    if said.returncode:
        raise CheckError(f"{' '.join(map(str, command))} failed:\n{(said.stdout + said.stderr)[-4000:]}")
    return said.stdout.strip()


def ask(*command: object) -> subprocess.CompletedProcess[str]:
    """Run a command that may fail."""
    return subprocess.run(
        [str(part) for part in command], cwd=CHECKOUT, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )


def logs(container: str) -> str:
    """Return the end of what a container has said."""
    said = ask("podman", "logs", "--tail", "60", container)
    return (said.stdout + said.stderr)[-6000:]


def wait_for(condition: Callable[[], Any], what: str, seen: Callable[[], str] = str) -> Any:
    """Return what ``condition`` returns once it is true.

    :raises CheckError: after 20 minutes, with what is ``seen`` then.
    """
    deadline = time.monotonic() + SECONDS
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise CheckError(f"{what}: not within {SECONDS:.0f} s\n{seen()}")
        time.sleep(1)
    return found


def say(what: str) -> None:
    """Print a line with the time."""
    print(time.strftime("%H:%M:%S"), what, flush=True)
