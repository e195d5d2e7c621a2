"""Whether an engine ends when the process that started it is killed."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys


def ends_with_its_parent(program: str, argument: str, *, seconds: int) -> bool:
    """Kill a parent, say whether its engine ends by itself, and kill the engine if it does not.

    :param program: Python; starts the engine that ``argument`` tells of, prints its process ID, and waits.
    :param seconds: how long the engine may take.
    """
    parent = subprocess.Popen((sys.executable, "-c", program, argument), stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    watched = os.pidfd_open(int(parent.stdout.readline()))
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(watched, selectors.EVENT_READ)
            ended = bool(selector.select(seconds))
        if not ended:
            signal.pidfd_send_signal(watched, signal.SIGKILL)
        return ended
    finally:
        os.close(watched)
