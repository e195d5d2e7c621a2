"""What stands between a sink and OpenSearch and may spoil a request or its answer."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Answered = tuple[int, bytes]


class Proxy(ThreadingHTTPServer):
    """Forwards requests to a real node.

    :param url: of the node.
    :ivar script: what it does with the next bulks before it becomes a mere proxy again: a status, which it gives
        itself; "cut" or "hang" instead of an answer; "cut after", when the node has answered; or a change of it.
    :ivar before: called before a bulk is forwarded.
    :ivar asked: the documents' ids of each bulk.
    """

    daemon_threads = True

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.node = urlsplit(url).netloc
        self.script: list[int | str | Callable[[Any], Any]] = []
        self.before: Callable[[], None] = lambda: None
        self.asked: list[list[str]] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """A client that has gone is no error here."""


class _Handler(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        todo: Any = None
        if self.path.endswith("/_bulk"):
            actions = [json.loads(line) for line in body.splitlines()[::2]]
            self.server.asked.append([about["_id"] for action in actions for about in action.values()])
            todo = self.server.script.pop(0) if self.server.script else None
            self.server.before()
        if todo == "hang":
            self.server.released.wait(30)
        if todo in ("hang", "cut"):
            self.close_connection = True
            return
        status, answer = (todo, b'{"error": "as the script says"}') if isinstance(todo, int) else self._forward(body)
        if callable(todo):
            answer = json.dumps(todo(json.loads(answer))).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        half = todo == "cut after"
        self.wfile.write(answer[: len(answer) // 2] if half else answer)
        self.close_connection = half

    do_GET = do_POST = do_PUT = do_HEAD = _any  # noqa: N815 (so http.server wants them)

    def _forward(self, body: bytes) -> Answered:
        connection = http.client.HTTPConnection(self.server.node, timeout=30)
        connection.request(self.command, self.path, body, {"Content-Type": "application/json"})
        with connection.getresponse() as response:
            answered = response.status, response.read()
        connection.close()
        return answered

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@contextmanager
def proxy(url: str) -> Iterator[Proxy]:
    """Serve until the block ends."""
    with Proxy(url) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.released.set()
        server.shutdown()
        thread.join()
