"""An HTTP proxy before DynamoDB for many clients at once, whose requests meet faults while the others go on.

Where :mod:`~tests.faults.dynamodb_client` stands inside one process, this one stands between real
processes and the engine: what it drops, delays or repeats has really been sent.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from typing import Any, Final
from urllib.parse import urlsplit

_ITEMS: Final = ("GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "TransactWriteItems", "BatchGetItem")
_RESET: Final = struct.pack("ii", 1, 0)
LATE_SECONDS: Final = (0.1, 0.5, 1.2)
_TYPE: Final = "com.amazonaws.dynamodb.v20120810#"


class HttpFault(Enum):
    """What happens to one request for items."""

    ANSWER_LOST = "carried out, its answer dropped"
    LOST = "dropped"
    LATE = "the connection reset, the request carried out later"
    TWICE = "carried out, answered, and carried out once more later"
    DELAYED = "carried out late, then answered"
    INTERNAL_ERROR = "carried out, answered with 500"
    UNAVAILABLE = "not carried out, answered with 503"
    THROTTLED = "not carried out, answered with: no capacity"


_REFUSALS: Final[Mapping[HttpFault, tuple[int, str]]] = {
    HttpFault.INTERNAL_ERROR: (500, "InternalServerError"),
    HttpFault.UNAVAILABLE: (503, "ServiceUnavailable"),
    HttpFault.THROTTLED: (400, "ProvisionedThroughputExceededException"),
}
_NOT_CARRIED_OUT: Final = (HttpFault.UNAVAILABLE, HttpFault.THROTTLED)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes


class FaultyRequests:
    """Forwards requests; the next ones for items meet what :meth:`meet` has asked for.

    :param target: host and port of the engine.
    :param late: after how many seconds late requests reach the engine, in turns.
    """

    def __init__(self, target: tuple[str, int], late: Iterable[float] = LATE_SECONDS) -> None:
        self.target = target
        self.counts: Counter[HttpFault] = Counter()
        """What really happened so far."""
        self._asked: deque[HttpFault] = deque()
        self._late = cycle(late)
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, name="faulty-requests", daemon=True).start()

    @property
    def endpoint(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def meet(self, fault: HttpFault) -> None:
        """Let the next request of anybody meet a fault."""
        self._asked.append(fault)

    def calm(self) -> None:
        """Ask for no more faults."""
        self._asked.clear()

    def take(self) -> HttpFault | None:
        """Return what the request at hand meets."""
        with suppress(IndexError):
            return self._asked.popleft()
        return None

    def count(self, fault: HttpFault) -> None:
        """Note that a fault really happened."""
        with self._lock:
            self.counts[fault] += 1

    def wait(self) -> None:
        """Wait for as long as the next late request does."""
        with self._lock:
            seconds = next(self._late)
        time.sleep(seconds)

    def later(self, request: tuple[str, dict[str, str], bytes], fault: HttpFault) -> None:
        """Carry a request out later, for nobody."""
        self.wait()
        with closing(HTTPConnection(*self.target, timeout=30)) as engine, suppress(OSError, HTTPException):
            forward(engine, *request)
            self.count(fault)

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()


def forward(engine: HTTPConnection, path: str, headers: dict[str, str], body: bytes) -> _Answer:
    """Send a request and return its answer."""
    engine.request("POST", path, body, headers)
    answer = engine.getresponse()
    return _Answer(answer.status, answer.getheaders(), answer.read())


class _Handler(BaseHTTPRequestHandler):
    """One client's connection with its own to the engine."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    proxy: FaultyRequests

    def setup(self) -> None:
        super().setup()
        self._engine = HTTPConnection(*self.proxy.target, timeout=30)

    def finish(self) -> None:
        self._engine.close()
        with suppress(OSError):
            super().finish()

    def handle(self) -> None:
        with suppress(OSError, HTTPException):  # the client has gone, or the engine
            super().handle()

    def do_POST(self) -> None:
        """Forward one request, or let it meet its fault."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = (self.path, dict(self.headers.items()), body)
        action = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        fault = self.proxy.take() if action in _ITEMS else None
        if fault is None:
            self._send(forward(self._engine, *request))
        else:
            self._meet(fault, request)

    def _meet(self, fault: HttpFault, request: tuple[str, dict[str, str], bytes]) -> None:
        if fault in (HttpFault.LATE, HttpFault.LOST):
            self._reset()
        elif fault not in _NOT_CARRIED_OUT:
            if fault is HttpFault.DELAYED:
                self.proxy.wait()
            answer = forward(self._engine, *request)
            if fault is HttpFault.ANSWER_LOST:
                self._reset()
            elif fault not in _REFUSALS:
                self._send(answer)
        if fault in _REFUSALS:
            self._send(_refusal(*_REFUSALS[fault]))
        if fault in (HttpFault.LATE, HttpFault.TWICE):
            self.proxy.later(request, fault)
        else:
            self.proxy.count(fault)

    def _send(self, answer: _Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _reset(self) -> None:
        """End the connection at once, with what is under way in it."""
        self.close_connection = True
        with suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of single requests."""


def _refusal(status: int, name: str) -> _Answer:
    body = json.dumps({"__type": _TYPE + name, "message": "The proxy says so."}).encode()
    return _Answer(status, [("Content-Type", "application/x-amz-json-1.0")], body)


@contextmanager
def faulty_requests(endpoint: str, late: Iterable[float] = LATE_SECONDS) -> Iterator[FaultyRequests]:
    """Give a proxy before the engine at ``endpoint``."""
    place = urlsplit(endpoint)
    proxy = FaultyRequests((place.hostname or "127.0.0.1", place.port or 80), late)
    try:
        yield proxy
    finally:
        proxy.close()
