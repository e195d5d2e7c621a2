"""A proxy before PostgreSQL that cuts the connection at a chosen moment of the next statement."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Final

from sqlalchemy.engine import make_url

_CHUNK: Final = 1 << 16
_EXECUTE: Final = b"E\x00\x00\x00\x09\x00\x00\x00\x00\x00"
_QUERY: Final = b"Q"
_SYNC: Final = b"S\x00\x00\x00\x04"
_READY: Final = b"Z\x00\x00\x00\x05I"


class Cut(Enum):
    """When the connection ends."""

    BEFORE = "before the statement is forwarded"
    WAITING = "as soon as it is forwarded, while the server may still work on it or wait for a lock"
    AFTER = "after the server has answered, before the answer is forwarded"


class _Session:
    """One client's connection with its own to the server."""

    def __init__(self, proxy: CuttingProxy, client: socket.socket) -> None:
        self._proxy, self._client = proxy, client
        self._server = socket.create_connection(proxy.target)
        self._cut: Cut | None = None
        for pump in (self._upwards, self._downwards):
            threading.Thread(target=pump, daemon=True).start()

    def close(self) -> None:
        for side in (self._client, self._server):
            _end(side)

    def _upwards(self) -> None:
        pending = b""
        with suppress(OSError):
            while data := self._client.recv(_CHUNK):
                pending += data
                simple = pending.startswith(_QUERY)
                if self._proxy.armed and not (simple or pending.endswith(_SYNC)):
                    continue
                statements = simple + pending.count(_EXECUTE)
                self._proxy.statements += statements
                self._proxy.bytes += len(pending)
                cut = self._proxy.take() if statements else None
                if cut is not None:
                    self._cut = cut  # before the server can answer: from here on the client hears nothing
                if cut is not Cut.BEFORE:
                    self._server.sendall(pending)
                pending = b""
                if cut in (Cut.BEFORE, Cut.WAITING):
                    _end(self._client)
                    self._proxy.done.set()
                    return
        if self._cut is not Cut.AFTER:
            _end(self._server)

    def _downwards(self) -> None:
        tail = b""
        with suppress(OSError):
            while data := self._server.recv(_CHUNK):
                if self._cut is None:
                    self._proxy.received += len(data)
                    self._client.sendall(data)
                    continue
                tail = (tail + data)[-len(_READY) :]
                if tail == _READY:
                    break
        _end(self._client)
        if self._cut is Cut.AFTER:
            self._proxy.done.set()


class CuttingProxy:
    """Forwards connections to a server, and cuts the next statement when it is told to.

    :param target: host and port of the server.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self.done = threading.Event()
        """Set when a cut has been made."""
        self.statements = 0
        """How many statements clients have sent."""
        self.bytes = 0
        """How many bytes clients have sent, with all that belongs to the protocol."""
        self.received = 0
        """How many bytes clients were answered."""
        self._cut: Cut | None = None
        self._refusing = False
        self._lock = threading.Lock()
        self._sessions: list[_Session] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens, on 127.0.0.1."""
        return int(self._listener.getsockname()[1])

    @property
    def armed(self) -> bool:
        """Whether the next statement is going to be cut."""
        return self._cut is not None

    def cut_next(self, cut: Cut, *, refuse_afterwards: bool = False) -> None:
        """Cut the connection of the next statement.

        :param refuse_afterwards: refuse new connections from then on, until :meth:`accept_again`.
        """
        self.done.clear()
        with self._lock:
            self._cut, self._refuse_afterwards = cut, refuse_afterwards

    def take(self) -> Cut | None:
        """Return the moment for the statement at hand, ``None`` for the statements after it."""
        with self._lock:
            cut, self._cut = self._cut, None
            if cut is not None:
                self._refusing = self._refuse_afterwards
            return cut

    def accept_again(self) -> None:
        """Let new connections in."""
        self._refusing = False

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._refusing:
                    client.close()
                    continue
                self._sessions.append(_Session(self, client))

    def close(self) -> None:
        """End all connections."""
        _end(self._listener)
        for session in self._sessions:
            session.close()


def _end(side: socket.socket) -> None:
    with suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)
    side.close()


@contextmanager
def cutting_proxy(url: str) -> Iterator[tuple[str, CuttingProxy]]:
    """Give a URL that leads through a proxy to the PostgreSQL server at ``url``, and the proxy."""
    direct = make_url(url)
    proxy = CuttingProxy((direct.host or "127.0.0.1", direct.port or 5432))
    try:
        through = direct.set(host="127.0.0.1", port=proxy.port)
        yield through.render_as_string(hide_password=False), proxy
    finally:
        proxy.close()
