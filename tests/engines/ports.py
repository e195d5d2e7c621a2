"""Ports for servers of the tests' own."""

from __future__ import annotations

import random
import socket
from contextlib import suppress
from typing import Final

_PORTS: Final = range(22_000, 32_000)


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that nobody uses at this moment; see :func:`free_ports`."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Return TCP ports of 127.0.0.1 that nobody uses at this moment.

    They are below those that Linux gives to clients and to servers that ask for any: one of these could be gone before
    it is used. They are drawn, because others who start a server at the same time look for one, too.
    """
    found: list[int] = []
    for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise RuntimeError(f"no {count} ports from {_PORTS.start} to {_PORTS.stop} are free")
