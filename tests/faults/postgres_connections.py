"""A proxy before PostgreSQL for many clients at once, whose statements meet faults while the others go on.

Where :mod:`~tests.faults.postgres_cuts` cuts one chosen statement, this one is for long runs: it is told again
and again what the next statement shall meet, whoever sends it, and counts what really happened.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from itertools import cycle
from typing import Final

from sqlalchemy.engine import make_url

_CHUNK: Final = 1 << 16
_GREETINGS: Final = 2
"""What a client sends before its first statement: whether TLS is spoken here, and who it is."""
_TERMINATE: Final = b"X"
_RESET: Final = struct.pack("ii", 1, 0)
_HELD_SECONDS: Final = 30.0
LATE_SECONDS: Final = (0.1, 0.5, 1.2)


class NetFault(Enum):
    """What happens to one statement and its connection."""

    ANSWER_LOST = "carried out, its answer dropped, the connection reset"
    LOST = "dropped, the connection reset"
    LATE = "the connection reset, the statement carried out later"
    DELAYED = "held back, then carried out and answered"
    SILENCE = "carried out or dropped, and then silence until the client gives up"


_ANSWERED: Final = (NetFault.ANSWER_LOST, NetFault.LATE)
"""Those whose statement reaches the server, which then answers nobody."""


class FaultyConnections:
    """Forwards connections to a server; the next statements meet what :meth:`meet` has asked for.

    :param target: host and port of the server.
    :param late: after how many seconds late statements reach the server, in turns.
    """

    def __init__(self, target: tuple[str, int], late: Iterable[float] = LATE_SECONDS) -> None:
        self.target = target
        self.counts: Counter[NetFault] = Counter()
        """What really happened so far."""
        self._asked: deque[NetFault] = deque()
        self._late, self._forwarded = cycle(late), cycle((False, True))
        self._lock = threading.Lock()
        self._sessions: set[_Session] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        threading.Thread(target=self._accept, name="faulty-connections", daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens, on 127.0.0.1."""
        return int(self._listener.getsockname()[1])

    def meet(self, fault: NetFault) -> None:
        """Let the next statement of anybody meet a fault."""
        self._asked.append(fault)

    def calm(self) -> None:
        """Ask for no more faults."""
        self._asked.clear()

    def take(self) -> NetFault | None:
        """Return what the statement at hand meets."""
        with suppress(IndexError):
            return self._asked.popleft()
        return None

    def delay(self) -> float:
        """Return after how many seconds the next late statement reaches the server."""
        with self._lock:
            return next(self._late)

    def forwards(self) -> bool:
        """Return whether the next statement before a silence reaches the server: every second one does."""
        with self._lock:
            return next(self._forwarded)

    def count(self, fault: NetFault) -> None:
        """Note that a fault really happened."""
        with self._lock:
            self.counts[fault] += 1

    def left(self, session: _Session) -> None:
        """Forget a connection that has ended."""
        self._sessions.discard(session)

    def close(self) -> None:
        """End all connections."""
        _end(self._listener)
        for session in list(self._sessions):
            session.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                try:
                    server = socket.create_connection(self.target, timeout=5)
                except OSError:  # it is being restarted
                    _reset(client)
                    continue
                server.settimeout(None)
                server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                session = _Session(self, client, server)
                self._sessions.add(session)
                session.start()


class _Session:
    """One client's connection with its own to the server."""

    def __init__(self, proxy: FaultyConnections, client: socket.socket, server: socket.socket) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self._swallowing: NetFault | None = None

    def start(self) -> None:
        for pump in (self._upwards, self._downwards):
            threading.Thread(target=pump, daemon=True).start()

    def close(self) -> None:
        for side in (self._client, self._server):
            _end(side)

    def _upwards(self) -> None:
        sent = 0
        with suppress(OSError):
            while data := self._client.recv(_CHUNK):
                sent += 1
                fault = self._proxy.take() if sent > _GREETINGS and not data.startswith(_TERMINATE) else None
                if fault is None:
                    self._server.sendall(data)
                elif not self._meet(fault, data):
                    break
        if self._swallowing not in _ANSWERED:
            _end(self._server)
        self._proxy.left(self)

    def _meet(self, fault: NetFault, data: bytes) -> bool:
        """Let a statement meet a fault; return whether the connection goes on."""
        if fault is NetFault.DELAYED:
            time.sleep(self._proxy.delay())
            self._server.sendall(data)
            self._proxy.count(fault)
            return True
        self._swallowing = fault
        if fault is NetFault.ANSWER_LOST:
            self._server.sendall(data)
            return True
        if fault is NetFault.SILENCE:
            self._be_silent(data)
            return False
        _reset(self._client)
        if fault is NetFault.LATE:
            time.sleep(self._proxy.delay())
            self._server.sendall(data)
        else:
            self._proxy.count(fault)
        return False

    def _be_silent(self, data: bytes) -> None:
        if self._proxy.forwards():
            self._server.sendall(data)
        self._client.settimeout(_HELD_SECONDS)
        with suppress(OSError):
            while self._client.recv(_CHUNK):
                pass
        self._proxy.count(NetFault.SILENCE)
        _end(self._client)

    def _downwards(self) -> None:
        with suppress(OSError):
            while data := self._server.recv(_CHUNK):
                if self._swallowing is None:
                    self._client.sendall(data)
                elif self._swallowing in _ANSWERED:
                    self._proxy.count(self._swallowing)
                    _reset(self._client)
                    break
        if self._swallowing is not NetFault.SILENCE:
            _end(self._client)
        _end(self._server)


def _reset(side: socket.socket) -> None:
    """End a connection at once, with what is under way in it."""
    with suppress(OSError):
        side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    _end(side)


def _end(side: socket.socket) -> None:
    with suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)
    side.close()


@contextmanager
def faulty_connections(url: str, late: Iterable[float] = LATE_SECONDS) -> Iterator[tuple[str, FaultyConnections]]:
    """Give a URL that leads through the proxy to the PostgreSQL server at ``url``, and the proxy."""
    direct = make_url(url)
    proxy = FaultyConnections((direct.host or "127.0.0.1", direct.port or 5432), late)
    try:
        through = direct.set(host="127.0.0.1", port=proxy.port)
        yield through.render_as_string(hide_password=False), proxy
    finally:
        proxy.close()
