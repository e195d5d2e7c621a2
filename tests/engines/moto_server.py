"""A local Amazon for tests: S3, STS, IAM and DynamoDB of moto on one port, one request after the other.

moto keeps no condition when threads race: it reads and writes an item without a lock. So one stands in front of it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server


class OneAtATime:
    """A WSGI application that lets one request at a time into another.

    :param application: the other; an answer is read to its end before the next request may enter.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        with self._lock:
            return list(self._application(environ, start_response))


class _Silent(MotoRequestHandler):
    def log(self, type: str, message: str, *args: object) -> None:
        """Say nothing: werkzeug would print a line for every request."""


@contextmanager
def moto_server() -> Iterator[str]:
    """Serve from a thread of this process until the block ends, and give the endpoint URL.

    Its memory is the process's: a second server shows the same buckets and tables.
    """
    application = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=_Silent)
    thread = threading.Thread(target=server.serve_forever, name="moto", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
